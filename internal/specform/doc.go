// Package specform turns the JSON Schema of a spec into the fields of a form, and texts into a spec: what a
// person types into a form, passes as flags or uploads as CSV. It is for the dashboard and the command line, and has
// nothing of HTTP or HTML.
//
// It reads the keywords that taskgen writes (docs/json-schema.md). All mistakes are found at once, each with the name of the field
// that it is about. Numbers keep every digit. A spec that [Form.Parse] returns fits the schema; Submit checks it again.
package specform
