// Package schema writes the JSON Schema of a Spec, a State or a Result. A document
// that the generated decoder accepts fits its schema; docs/json-schema.md says how
// far the reverse holds.
package schema
