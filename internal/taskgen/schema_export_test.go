package taskgen

// SchemaOf is for tests that need the corpus.
var SchemaOf = schemaOf
