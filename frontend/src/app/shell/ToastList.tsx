/** The list itself, as the one part that loads late. */
export { Notifications as default } from "@mantine/notifications";
