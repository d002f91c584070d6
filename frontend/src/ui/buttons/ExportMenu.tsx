import { Button, Menu } from "@mantine/core";
import { IconDownload } from "@tabler/icons-react";
import type { ReactElement } from "react";

export interface ExportFile {
  label: string;
  href: string;
  /** The name of the downloaded file. */
  name: string;
}

/** Downloads what the page shows, in one of several formats. */
export function ExportMenu({ files }: { files: readonly ExportFile[] }): ReactElement {
  return (
    <Menu position="bottom-end" shadow="md">
      <Menu.Target>
        <Button variant="default" leftSection={<IconDownload size={14} stroke={2} />}>
          Export
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {files.map(({ label, href, name }) => (
          <Menu.Item key={label} component="a" href={href} download={name}>
            {label}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
