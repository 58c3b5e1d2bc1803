// Package specform turns the JSON Schema of a spec into the fields of a form, and texts into a spec: what a
// person types into a form, passes as flags or uploads as CSV. It is for the dashboard and the command line, and has
// nothing of HTTP or HTML.
//
// It reads the keywords that taskgen writes (docs/json-schema.md). All mistakes are found at once, each with the name of the field
// that it is about. Numbers keep every digit. A spec that [Form.Parse] returns fits the schema; Submit checks it again.
//
// It checks schemas by itself, since programs that use taskkit link no schema library: the tests alone have one, and require that both refuse the same
// specs. The check exists to say beside each field, in words for people, what is wrong with it, before anything is submitted; a library reports the
// keywords that failed, also in each alternative. What is stored is decided by Submit alone, which applies the rules in Go.
package specform
