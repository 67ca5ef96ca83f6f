"""The same worlds through other libraries' doors. Import the module you need; nothing here is imported for you."""
