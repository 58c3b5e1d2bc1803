package taskgen

import (
	"fmt"
	"go/token"
	"strings"
)

// Executor is one bulk action, as found in the source.
type Executor struct {
	Kind     string
	Aliases  []string
	Batch    int    // 0 is the default of taskkit
	Queue    string // "" is the default of taskkit
	Revision int

	Type   string // the executor's type, as Go source with marks
	Source string // where it is written, for people: executors/watch.Executor
	Pos    token.Position

	Spec, State *Type
	Result      *Type // nil without a Report method
}

// Package returns the name of the package generated for the kind.
func (x *Executor) Package() string { return strings.ReplaceAll(x.Kind, "_", "") + "task" }

// Field returns the name of the kind in Go: ProgramStatus for program_status.
func (x *Executor) Field() string {
	var b strings.Builder
	for part := range strings.SplitSeq(x.Kind, "_") {
		if part != "" {
			b.WriteString(strings.ToUpper(part[:1]) + part[1:])
		}
	}
	return b.String()
}

// Form is how a type is written as JSON.
type Form int

// The forms. From Slice on, a type has functions of its own in generated code.
const (
	String Form = iota
	Bool
	Int
	Uint
	Float
	Bytes // []byte, in base64
	Raw   // json.RawMessage
	Time
	UUID
	JSON // by its own MarshalJSON and UnmarshalJSON
	Text // by its own MarshalText and UnmarshalText
	Slice
	Array
	Map
	Pointer
	Struct
)

// Type is a type that can be stored.
//
// Source in a model names packages by marks, «path|name», since what a package
// is called in a file depends on the others there. The marked source of a type
// is also its identity.
type Type struct {
	Form   Form
	Source string
	Title  string  // for the names of functions: SliceOfUUID
	Bits   int     // of Int, Uint and Float; 0 is the width of int
	Key    *Type   // of a Map: a String or a Text
	Elem   *Type   // of a Slice, Array, Map and Pointer
	Fields []Field // of a Struct: those that are stored
	// Declared are all fields of a Struct as they are declared.
	Declared []Declared
	Named    bool // declared, so that a Struct can be asserted
}

// Field is a field of a struct that is stored.
type Field struct {
	Go   string
	JSON string
	Type *Type
	// Keep is the condition under which the field is written, with %s for the
	// field; "" is always.
	Keep string
}

// Declared is a field as it is declared, for assertions; the ones that are not
// stored are among them.
type Declared struct{ Name, Source, Tag string }

// Diagnostic is something wrong in the source, and what to do about it.
type Diagnostic struct {
	Pos     token.Position
	Message string
	Remedy  string
}

// String returns file:line:col: message: remedy.
func (d Diagnostic) String() string {
	s := d.Message
	if d.Remedy != "" {
		s += ": " + d.Remedy
	}
	if !d.Pos.IsValid() {
		return s
	}
	return fmt.Sprintf("%s: %s", d.Pos, s)
}
