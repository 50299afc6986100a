"""Studio: a web application in which people and models label a dataset, each seeing only what they know."""
