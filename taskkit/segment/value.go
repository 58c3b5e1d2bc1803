package segment

import (
	"cmp"
	"encoding/hex"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Type is the type of the values that a plan divides.
type Type string

// The types of values.
const (
	TypeNumber Type = "number" // integer, numeric and floating-point columns
	TypeText   Type = "text"
	TypeUUID   Type = "uuid"
	TypeTime   Type = "time" // timestamps
)

// Value is a value of a column at which a segment begins or ends. Values can be
// compared with ==. The zero Value is an open end.
type Value struct {
	typ     Type
	text    string // canonical, so that equal values have equal text
	problem string // why it cannot be used
}

// Int returns a number.
func Int(n int64) Value { return Value{typ: TypeNumber, text: strconv.FormatInt(n, 10)} }

// BigInt returns a number of any size up to 1,000 digits.
func BigInt(n *big.Int) Value {
	if n == nil {
		return Value{typ: TypeNumber, problem: "the number is nil"}
	}
	// 1,000 digits take 3,322 bits.
	if n.BitLen() > 3322 {
		return Value{typ: TypeNumber, problem: "the number has more than 1,000 digits"}
	}
	return Value{typ: TypeNumber, text: n.String()}
}

// Text returns a text, which must be valid UTF-8 without NUL.
func Text(s string) Value { return Value{typ: TypeText, text: s, problem: textProblem(s)} }

func textProblem(s string) string {
	switch {
	case !utf8.ValidString(s):
		return "the text " + strconv.QuoteToASCII(s) + " is not valid UTF-8"
	case strings.IndexByte(s, 0) >= 0:
		return "the text " + strconv.QuoteToASCII(s) + " has a NUL, which PostgreSQL cannot store"
	}
	return ""
}

// ID returns a UUID, also of the type uuid.UUID.
func ID(id [16]byte) Value {
	h := hex.EncodeToString(id[:])
	return Value{typ: TypeUUID, text: h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]}
}

// Layouts of times: in values, of a fixed width so that they compare as text, and in
// SQLite, where stored times may have more or fewer digits and a zone.
const (
	valueLayout  = "2006-01-02T15:04:05.000000Z"
	sqliteLayout = "2006-01-02 15:04:05.999999"
)

// Instant returns a time. It must be in the years 1 to 9999 and a whole number of
// microseconds, the precision of PostgreSQL.
func Instant(t time.Time) Value {
	return Value{typ: TypeTime, text: t.UTC().Format(valueLayout), problem: timeProblem(t)}
}

func timeProblem(t time.Time) string {
	t = t.UTC()
	switch {
	case t.Year() < 1 || t.Year() > 9999:
		return "the time " + t.Format(time.RFC3339Nano) + " is outside the years 1 to 9999"
	case t.Nanosecond()%1000 != 0:
		return "the time " + t.Format(time.RFC3339Nano) + " has a part of a microsecond: truncate it"
	}
	return ""
}

// Type returns the type of the value.
func (v Value) Type() Type { return v.typ }

// String returns the value for people: a text in quotes.
func (v Value) String() string {
	switch {
	case v.typ == TypeText:
		return strconv.Quote(v.text)
	case v.typ == TypeTime && v.problem == "":
		return v.time().Format(time.RFC3339Nano)
	case v.typ == "":
		return "none"
	}
	return v.text
}

func (v Value) number() *big.Int {
	n, _ := new(big.Int).SetString(v.text, 10)
	return n
}

// int64 returns the number if it has 64 bits.
func (v Value) int64() (n int64, fits bool) {
	n, err := strconv.ParseInt(v.text, 10, 64)
	return n, err == nil
}

// time returns the time of a value of that type, which Instant has formatted.
func (v Value) time() time.Time {
	t, _ := time.Parse(valueLayout, v.text)
	return t
}

// parseValue reads the text of a value of a type. The value has a problem if it is invalid.
func parseValue(typ Type, text string) Value {
	v := Value{typ: typ, text: text}
	switch typ {
	case TypeNumber:
		if n, ok := new(big.Int).SetString(text, 10); !ok || n.String() != text {
			v.problem = strconv.Quote(text) + " is not an integer in decimal digits"
		} else {
			v = BigInt(n)
		}
	case TypeText:
		v = Text(text)
	case TypeUUID:
		raw, err := hex.DecodeString(strings.ReplaceAll(text, "-", ""))
		if err != nil || len(raw) != 16 || ID([16]byte(raw)).text != text {
			v.problem = strconv.Quote(text) + " is not a UUID in lower case"
		}
	case TypeTime:
		if t, err := time.Parse(valueLayout, text); err != nil || t.Format(valueLayout) != text {
			v.problem = strconv.Quote(text) + " is not a time such as " + valueLayout
		} else {
			v = Instant(t)
		}
	default:
		v.problem = "there is no type " + strconv.Quote(string(typ))
	}
	return v
}

// compare orders two values of one type, as both databases do.
func compare(a, b Value) int {
	if a.typ != TypeNumber {
		return cmp.Compare(a.text, b.text)
	}
	x, xNegative := strings.CutPrefix(a.text, "-")
	y, yNegative := strings.CutPrefix(b.text, "-")
	switch {
	case xNegative && !yNegative:
		return -1
	case !xNegative && yNegative:
		return 1
	case xNegative:
		x, y = y, x
	}
	return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y))
}

// afterPrefix returns the least text that is greater than every text with the
// prefix; false if there is none.
func afterPrefix(prefix string) (string, bool) {
	for prefix != "" {
		r, size := utf8.DecodeLastRuneInString(prefix)
		prefix = prefix[:len(prefix)-size]
		switch r++; {
		case r == 0xD800: // the first surrogate, which is not valid in UTF-8
			return prefix + "\uE000", true
		case r <= utf8.MaxRune:
			return prefix + string(r), true
		}
	}
	return "", false
}
