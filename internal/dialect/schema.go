package dialect

import (
	"fmt"
	"regexp"
	"strings"
)

// DefaultSchema is the default PostgreSQL schema of taskkit's tables.
const DefaultSchema = "taskkit"

// schemaName matches valid names. A notification channel is named "taskkit_" and the
// schema, and PostgreSQL truncates names after 63 bytes, hence at most 55.
var schemaName = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,54}$`)

// Schema returns the schema to use on a dialect: [DefaultSchema] for "", "" on
// SQLite, which has none, and an error for a name that cannot be used.
func Schema(d Name, schema string) (string, error) {
	if d == SQLite {
		return "", nil
	}
	if schema == "" || schema == DefaultSchema {
		return DefaultSchema, nil
	}
	if err := CheckSchema(schema); err != nil {
		return "", err
	}
	return schema, nil
}

// SchemaNameError reports an invalid name of a schema.
type SchemaNameError struct{ Name string }

func (e *SchemaNameError) Error() string {
	return fmt.Sprintf("schema name %q: use at most 55 lower case letters, digits and underscores, not beginning with a digit or pg_", e.Name)
}

// CheckSchema returns a *[SchemaNameError] for an invalid name.
func CheckSchema(schema string) error {
	if !schemaName.MatchString(schema) || strings.HasPrefix(schema, "pg_") {
		return &SchemaNameError{schema}
	}
	return nil
}
