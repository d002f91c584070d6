import type { StepDetail } from "@/api/schema";
import type { Draft } from "@/domain/overrides/draft";

export interface EditorProps {
  step: StepDetail;
  draft: Draft;
  onChange: (draft: Draft) => void;
}
