"""A LangChain model without an instrumented client, and a retriever."""

from langchain_core.documents import Document
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.retrievers import BaseRetriever


class Library(BaseRetriever):
    def _get_relevant_documents(self, query: str, **_: object) -> list[Document]:
        return [Document(id="d1", page_content=f"about {query}", metadata={"page": 3})]


Library().invoke("refunds")
print(FakeListChatModel(responses=["Hello."]).invoke("Hi").content)
