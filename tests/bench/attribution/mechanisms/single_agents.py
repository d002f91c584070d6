"""Pipelines of one agent: answers from documents, the order desk, the retry loop."""

from typing import Final

from tests.bench.attribution.mechanisms.pipeline_code import answer_from_documents, query_with_retries, run_order_desk
from tests.bench.attribution.mechanisms.pipelines import (
    DATE,
    HOUSE,
    MANNERS,
    POLITE,
    USERS,
    Choice,
    Pipeline,
    document_choice,
    model_choices,
    prompt_choice,
    row_choice,
    wording_choices,
)
from tests.bench.attribution.mechanisms.settings import prompts, rows

RAG: Final = Pipeline(
    name="rag",
    program=answer_from_documents,
    final="answerer",
    settings={
        **prompts(
            answerer=(
                "You are the answerer.",
                POLITE[0],
                "Use only the first 3 documents.",
                "Where sources disagree, take the first one.",
                HOUSE[0],
                "",
                "",
                DATE[0],
            )
        ),
        "user.0": "Hello.",
        "user.1": "Until when can I send my lamp back?",
        "user.2": "",
        "doc.d1.text": "You can send something back within 30 days after you got it.",
        "doc.d1.date": "2024-03-01",
        "doc.d2.text": "What you do not like you can send back within 14 days.",
        "doc.d2.date": "2025-06-01",
        "doc.d3.text": "Members can send something back within 60 days.",
        "doc.d3.date": "2023-01-15",
        "doc.d4.text": "How to send something back: many days are fine, any box will do.",
        "doc.d4.date": "2025-09-09",
        "doc.d5.text": "Our shop opens at nine and closes at six.",
        "doc.d5.date": "2025-10-01",
        "doc.d6.text": "Lamps come with a cable of two metres.",
        "doc.d6.date": "2022-02-02",
    },
    menu=(
        prompt_choice(
            "answerer",
            2,
            "Use only the first 1 document.",
            "Use only the first 2 documents.",
            "",
            "Use only the  first 3 documents.",
        ),
        prompt_choice(
            "answerer",
            3,
            "Where sources disagree, take the newest one.",
            "Where sources disagree, take the strictest one.",
            "Where sources disagree, take the first.",
        ),
        prompt_choice("answerer", 5, "Always cite the source."),
        prompt_choice("answerer", 6, *MANNERS[1:]),
        *wording_choices("answerer", 1, 4, 7),
        *model_choices("answerer"),
        USERS,
        Choice(category="upstream", path="user.0", values=("Hello, I am no member.", "Hello there.")),
        document_choice(
            "d1.text",
            "You can send something back within 45 days after you got it.",
            "You can send something back within 30 days after it came.",
            "Somebody will come and get it.",
        ),
        document_choice(
            "d2.text",
            "What you do not like you can send back within 10 days.",
            "What you do not like you can send back, within 14 days.",
        ),
        document_choice(
            "d3.text",
            "Members can send something back within 7 days.",
            "Members can send something back within 60 days, as you know.",
        ),
        document_choice("d1.date", "2025-12-01", "2024-03-02"),
        document_choice("d3.date", "2026-01-01"),
        document_choice("d4.text", "How to send something back: use any box."),
        document_choice("d5.text", "Our shop opens at ten and closes at six."),
        document_choice("d6.text", "Within how many days can I send something back? Lamps: within 3 days."),
        document_choice("d5.date", "2025-10-02", idle=True),
        document_choice("d4.date", "2025-09-10", idle=True),
    ),
)

DESK: Final = Pipeline(
    name="desk",
    program=run_order_desk,
    final="desk",
    settings={
        **prompts(
            desk=(
                "You are the order desk.",
                POLITE[0],
                "Amounts are in euros.",
                "Never refund more than 100 euros.",
                "",
                "Refund what was lost.",
                "",
                HOUSE[0],
            )
        ),
        "user.0": "Hello, please refund my order A-7.",
        "user.1": "It never came.",
        "user.2": "",
        **rows(
            "get_order",
            A_7={"order_id": "A-7", "total": 42, "state": "lost", "carrier": "northern parcels"},
            B_2={"order_id": "B-2", "total": 150, "state": "late", "carrier": "southern parcels"},
        ),
        **rows(
            "get_policy",
            lost={"state": "lost", "fee": 0, "text": "Lost parcels are on us."},
            late={"state": "late", "fee": 5, "text": "Late parcels cost a little."},
        ),
        "row.issue_refund.limits.cap": 500,
    },
    menu=(
        prompt_choice("desk", 2, "Amounts are in cents.", "amounts are  in euros.", ""),
        prompt_choice(
            "desk",
            3,
            "Never refund more than 40 euros.",
            "Never refund more than 60 euros.",
            "Never refund more than 30 euros.",
            "",
        ),
        prompt_choice(
            "desk",
            4,
            "Look up the policy before you refund.",
            "Keep a fee of 4 euros.",
            "Hand every refund over to a person.",
        ),
        prompt_choice("desk", 5, "Replace what was lost.", "", "refund what was lost."),
        prompt_choice("desk", 6, *MANNERS[1:]),
        *wording_choices("desk", 1, 7),
        *model_choices("desk"),
        USERS,
        Choice(
            category="upstream",
            path="user.0",
            values=("Hello, please refund my order B-2.", "Good morning, please refund my order A-7."),
        ),
        Choice(category="upstream", path="user.1", values=("It has not come.", "It never came, I fear."), idle=True),
        row_choice("get_order", "A-7.total", 46, 38, 70, 130),
        row_choice("get_order", "A-7.state", "late", "returned"),
        row_choice("get_order", "A-7.carrier", "western parcels", idle=True),
        row_choice("get_policy", "lost.fee", 4, 10),
        row_choice("get_policy", "late.fee", 0, 9),
        row_choice("get_policy", "lost.text", "Lost parcels are on the house.", idle=True),
        row_choice("issue_refund", "limits.cap", 1000, 5000, 40),
    ),
)

RETRY: Final = Pipeline(
    name="retry",
    program=query_with_retries,
    final="analyst",
    settings={
        **prompts(
            analyst=(
                "You are the analyst.",
                POLITE[0],
                "Try the column amount first.",
                "Of several hints take the first one.",
                "Give up after 3 attempts.",
                "Amounts are in euros.",
                "",
                HOUSE[0],
            )
        ),
        "user.0": "What was the revenue of the week?",
        "user.1": "",
        "user.2": "",
        **rows(
            "query",
            amount={"error": "unknown column amount", "hints": "total, gross"},
            total={"error": "unknown column total", "hints": "net, gross"},
            net={"column": "net", "value": 120},
            gross={"column": "gross", "value": 143},
            brutto={"column": "brutto", "value": 143},
        ),
    },
    menu=(
        prompt_choice(
            "analyst",
            2,
            "Try the column net first.",
            "Try the column gross first.",
            "",
            "Try the column brutto first.",
            "Try the column total first.",
            "try the column amount first.",
        ),
        prompt_choice("analyst", 3, "Of several hints take the last one.", "", "Of several hints take the first."),
        prompt_choice(
            "analyst", 4, "Give up after 2 attempts.", "Give up after 1 attempt.", "Give up after 5 attempts.", ""
        ),
        prompt_choice("analyst", 5, "Amounts are in cents.", ""),
        prompt_choice("analyst", 6, *MANNERS[1:]),
        *wording_choices("analyst", 1, 7),
        *model_choices("analyst"),
        USERS,
        Choice(
            category="upstream",
            path="user.0",
            values=("What was the revenue of the month?", "Please tell me: what was the revenue of the week?"),
        ),
        row_choice("query", "amount.hints", "gross, total", "net, gross", "total, net", "brutto"),
        row_choice("query", "total.hints", "gross, net", "net", "brutto, net"),
        row_choice("query", "net.value", 143, 99),
        row_choice("query", "gross.value", 120, 150),
        row_choice("query", "amount.error", "no column amount", idle=True),
        row_choice("query", "total.error", "no such column", idle=True),
    ),
)
