package model

import (
	"fmt"
	"go/token"
	"reflect"
	"strings"
	"time"
)

// Executor is one bulk action, as found in the source.
type Executor struct {
	Kind     string
	Aliases  []string
	Batch    int    // 0 is the default of taskkit
	MaxBatch int    // 0 is no upper bound of its own
	Queue    string // "" is the default of taskkit
	// SkipPoison lets a task go on without an item that kills its worker.
	SkipPoison bool
	Preview    bool            // the executor can run as a preview
	Ledger     bool            // tasks store which items have succeeded
	Children   bool            // the directive has the word
	StopAfter  string          // "" is no stop policy
	Strategy   string          // a value, as Go source with marks; "" is the default of taskkit
	Policies   string          // the same
	Notify     string          // "": no target
	Parallel   int             // ranges of targets at once; 0 is none
	Defer      []time.Duration // nil is the default of taskkit
	// LatestStart and TimeLimit are whole seconds; 0 is none.
	LatestStart, TimeLimit time.Duration
	Touches                []string // the tables that its batches write
	Revision               int
	// Reserved are former names whose tasks are not run any more, and that
	// nothing else may use.
	Reserved []string
	Retired  bool // run, but submitted no more

	Suffix string // of the generated package
	Name   string // of the executor's type: Executor
	Doc    string // doc comment of the executor's type, as plain text
	Dir    string // its package, for people: executors/watch
	Type   string // the executor's type, as Go source with marks
	Source string // where it is written, for people: executors/watch.Executor
	Pos    token.Position

	// Targets is the list of the spec that has the targets, or nil. Its names are
	// paths from the spec down: Targets.People and targets.people.
	Targets *Field
	// FindsTargets: the executor has a method Targets.
	FindsTargets bool
	// Segments, Merges and Stages: the executor has the methods Segments, Merge and Stages.
	Segments, Merges, Stages bool
	// ChecksItems and ChecksBuckets: the executor has the methods CheckItems and CheckBucket.
	ChecksItems, ChecksBuckets bool

	Spec, State *Type
	Result      *Type // nil without a Report method

	Upgrades []Upgrade  // sorted by revision
	Allowed  []Allowed  // exceptions to the rules of evolution
	History  []Revision // all that may be stored, the one now last; set by evolve
}

// Allowed is an exception: a change of one field that breaks a rule of evolution,
// and no stored task.
type Allowed struct {
	Path   string // spec.note
	Rule   string // LIMIT_NO_TIGHTEN
	From   int    // the revision before the change
	Reason string
	Pos    token.Position
}

// Package returns the name of the package generated for the kind.
func (x *Executor) Package() string { return strings.ReplaceAll(x.Kind, "_", "") + x.Suffix }

// Field returns the name of the kind in Go: ProgramStatus for program_status. It is
// the name of a field of the struct Executors, whose method has another name.
func (x *Executor) Field() string {
	var b strings.Builder
	for part := range strings.SplitSeq(x.Kind, "_") {
		if part != "" {
			b.WriteString(strings.ToUpper(part[:1]) + part[1:])
		}
	}
	if b.String() == "Register" { // is a method of the struct
		return "Register_"
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
	Title  string // for the names of functions: SliceOfUUID
	Bits   int    // of Int, Uint and Float; 0 is the width of int
	// Kind is what validator takes a value for. It is Invalid when the type
	// hands validator another value, by a method ValidatorValue.
	Kind   reflect.Kind
	Len    int64   // of an Array
	Key    *Type   // of a Map: a String or a Text
	Elem   *Type   // of a Slice, Array, Map and Pointer
	Fields []Field // of a Struct: those that are stored
	Doc    string  // doc comment of a declared type, as plain text
	Enum   []Const // values of a String, Int or Uint declared with constants
	// OnPointer names the method that writes a JSON or a Text, when its receiver is
	// a pointer.
	OnPointer string
	// Recursive says that a Struct, Slice or Map contains itself.
	Recursive bool
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
	// Through are the embedded pointers on the way to a promoted field, outermost
	// first: while one is nil the field is not written, and reading makes it.
	Through []Through
	Pos     token.Position
	Doc     string // doc comment, as plain text
	Rules   Rules  // of the validate tag
	Secret  bool   // tagged taskkit:"secret"
}

// Through is an embedded pointer to a struct.
type Through struct {
	Go     string // as reached from the struct around
	Source string // the type it points to
}

// Rules are the rules of a validate tag, parsed. The zero value has none.
type Rules struct {
	List []Rule // in the order of the tag, up to dive
	Keys *Rules // between keys and endkeys, for a map
	Elem *Rules // after dive, for the elements
}

// Rule is one rule of a validate tag: max=100. Alternatives, a|b=1, are one
// rule with the whole as its name.
type Rule struct{ Name, Param string }

// Const is a constant of an enum.
type Const struct {
	Name  string // in Go: StatusPaused
	Value string // as JSON: "paused", 3
	Doc   string
}

// Declared is a field as it is declared, for assertions; the ones that are not
// stored are among them.
type Declared struct {
	Name, Source, Tag string
	Embedded          bool
}

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
