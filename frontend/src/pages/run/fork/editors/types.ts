import type { Engine, StepDetail } from "@/api/schema";
import type { Draft } from "@/domain/overrides/draft";

export interface EditorProps {
  step: StepDetail;
  draft: Draft;
  /** Undefined while the server chooses. */
  engine: Engine | undefined;
  onChange: (draft: Draft) => void;
}
