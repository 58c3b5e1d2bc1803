package taskjson

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// MaxDepth is how many levels of objects and arrays a value may have.
const MaxDepth = 100

// MaxSize is how many bytes a value may have.
const MaxSize = 4 << 20

// Problem is what is wrong with a value, as a word that programs may test and
// clients may be shown.
type Problem string

// The problems.
const (
	Syntax        Problem = "syntax"              // not JSON, or cut short
	TrailingData  Problem = "trailing_data"       // something after the value
	UnknownName   Problem = "unknown_name"        // no such field
	DuplicateName Problem = "duplicate_name"      // a name twice in one object
	CollidingName Problem = "case_colliding_name" // differs from a field only in case
	WrongType     Problem = "wrong_type"          // another type of JSON, or null
	OutOfRange    Problem = "out_of_range"        // a number that does not fit
	BadUTF8       Problem = "bad_utf8"            // bytes that are not UTF-8
	LoneSurrogate Problem = "lone_surrogate"      // half a surrogate pair, as \ud800
	NUL           Problem = "nul"                 // the NUL character, \u0000
	TooDeep       Problem = "too_deep"            // more than MaxDepth levels
	TooLarge      Problem = "too_large"           // more than MaxSize bytes
	InvalidValue  Problem = "invalid_value"       // refused by the type's own method
)

// Error says what is wrong in JSON, and where. Its text names places and types
// and never quotes a value, which may be a secret; Cause may.
type Error struct {
	// Pointer is the place as RFC 6901 writes it, such as /people/3/id. The
	// whole value is "".
	Pointer string
	Problem Problem
	// Detail is one phrase for a person.
	Detail string
	// Cause is the error of a type's own method, for InvalidValue, or of the
	// parser, for Syntax. It may be nil.
	Cause error
}

// Error names the place and the problem.
func (e *Error) Error() string {
	where := e.Pointer
	if where == "" {
		where = "the top"
	}
	return fmt.Sprintf("json: %s at %s: %s", strings.ReplaceAll(string(e.Problem), "_", " "), where, e.Detail)
}

// Unwrap returns Cause.
func (e *Error) Unwrap() error { return e.Cause }

// convert makes an [*Error] of an error of the libraries jsontext and json, so
// that a codec that works by reflection fails as a generated one does. Other
// errors are returned as they are.
func convert(err error) error {
	var (
		own       *Error
		syntactic *jsontext.SyntacticError
		semantic  *json.SemanticError
	)
	switch {
	case err == nil || errors.As(err, &own):
		return err
	case errors.Is(err, io.EOF):
		return &Error{Problem: Syntax, Detail: "there is no value", Cause: err}
	case errors.As(err, &syntactic):
		return convertSyntax(syntactic)
	case errors.As(err, &semantic):
		e := &Error{Pointer: string(semantic.JSONPointer), Problem: WrongType, Cause: semantic.Err}
		switch {
		case errors.Is(err, json.ErrUnknownName):
			e.Problem, e.Detail = UnknownName, "no field has this name"
		case errors.Is(err, strconv.ErrRange):
			e.Problem, e.Detail = OutOfRange, fmt.Sprintf("does not fit %s", semantic.GoType)
		case semantic.GoType != nil:
			e.Detail = fmt.Sprintf("this does not fit %s", semantic.GoType)
		default:
			e.Detail = "this does not fit"
		}
		return e
	default:
		return err
	}
}

// convertSyntax finds the problem in an error of the parser. Only two of its
// causes are values; the others are told apart by their text, and a text that
// is not known any more is still a Syntax error.
func convertSyntax(s *jsontext.SyntacticError) *Error {
	e := &Error{Pointer: string(s.JSONPointer), Problem: Syntax, Cause: s.Err}
	text := s.Err.Error()
	switch {
	case errors.Is(s, jsontext.ErrDuplicateName):
		e.Problem, e.Detail = DuplicateName, "this name is in the object twice"
	case errors.Is(s, io.ErrUnexpectedEOF):
		e.Detail = "the text is cut short"
	case strings.Contains(text, "UTF-8"):
		e.Problem, e.Detail = BadUTF8, "bytes that are not UTF-8"
	case strings.Contains(text, "max depth"):
		e.Problem, e.Detail = TooDeep, tooDeep()
	case strings.Contains(text, "surrogate pair") || surrogate.MatchString(text):
		e.Problem, e.Detail = LoneSurrogate, "half a surrogate pair"
	default:
		e.Detail = fmt.Sprintf("not JSON at byte %d", s.ByteOffset)
	}
	return e
}

// surrogate finds half a surrogate pair in the text of an error.
var surrogate = regexp.MustCompile(`\\u[dD][89a-fA-F][0-9a-fA-F]{2}`)
