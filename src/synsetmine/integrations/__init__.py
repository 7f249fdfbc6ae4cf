"""Grouping inside other tools: GraphRAG, neo4j-graphrag, LangChain, the Hugging Face hub.

Each module is imported by its own name, since each needs other packages.
"""
