package lock

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/taskgen/model"
)

// specimenTime is the time of specimens.
var specimenTime = time.Date(2006, 1, 2, 15, 4, 5, 0, time.UTC)

// variants bounds how many values of one form are tried.
const variants = mostElements + 8

// variant numbers values: "", 2, 3 and so on.
func variant(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n + 1)
}

// leafMaker finds the nth value of those that rules take.
type leafMaker struct {
	word     string
	rules    tag
	required bool
	nth      int
	taken    []string // as JSON
}

// leaf returns the JSON of a value that is neither a list nor an object, and that validator
// takes. Choice is which value of an enum it is, and nth which of the values that are taken. It
// reports false if there are fewer.
func leaf(word string, f model.Fact, choice, nth int) (string, bool) {
	m := leafMaker{word: word, rules: readTag(f, model.IsElement(f.Path)), required: f.Has("required"), nth: nth}
	m.rules.typ = word
	asIs := func(s string) string { return s }
	switch strings.TrimRight(word, "0123456789") {
	case "string":
		m.scalars(textCandidates(m.rules, choice), quoteJSON)
	case "bool":
		m.scalars([][]string{{"true", "false"}}, asIs)
	case "int", "uint", "float":
		m.scalars(numberCandidates(word, m.rules, choice), asIs)
	case "bigint":
		return strconv.Itoa(nth + 1), true
	case "bytes":
		m.bytes()
	case "time":
		for _, from := range []time.Time{specimenTime, time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC)} {
			for n := range variants {
				at := from.Add(time.Duration(n) * time.Second)
				m.plain(quoteJSON(at.Format(time.RFC3339)), at)
			}
		}
	case "uuid":
		for _, from := range specimenUUIDs {
			for n := range variants {
				text := counted(from, n)
				m.plain(quoteJSON(text), uuid.MustParse(text))
			}
		}
	case "raw":
		return `{"any":true}`, nth == 0
	default:
		return "null", true
	}
	if len(m.taken) <= nth {
		return "", false
	}
	return m.taken[nth], true
}

// enough reports whether the value is found.
func (m *leafMaker) enough() bool { return len(m.taken) > m.nth }

// take takes a value that is not refused, once.
func (m *leafMaker) take(value string) {
	if !slices.Contains(m.taken, value) {
		m.taken = append(m.taken, value)
	}
}

// scalars tries values of strings, booleans and numbers, in families of one form: first those of
// the family whose first is taken.
func (m *leafMaker) scalars(families [][]string, write func(string) string) {
	p := prover{typ: m.word}
	refused := func(c string) bool { return p.refusesText(c, m.rules.list) || m.required && p.isZero(c) }
	at := slices.IndexFunc(families, func(f []string) bool { return len(f) > 0 && !refused(f[0]) })
	if at >= 0 {
		families = slices.Concat(families[at:at+1], families[:at], families[at+1:])
	}
	for _, family := range families {
		for _, c := range family {
			if m.enough() {
				return
			}
			if !refused(c) {
				m.take(write(c))
			}
		}
	}
}

// plain tries another value.
func (m *leafMaker) plain(text string, v any) {
	if m.enough() {
		return
	}
	if refused, known := refusesValue(reflect.ValueOf(v), m.rules.alone()); known && !refused {
		m.take(text)
	}
}

// bytes tries bytes of several lengths, which base64 writes without a remainder first.
func (m *leafMaker) bytes() {
	lengths := []int{3}
	lengths = append(lengths, sizes(prover{typ: m.word, old: m.rules.list}.bounds())...)
	for _, n := range lengths {
		for first := range variants {
			data := make([]byte, n)
			for i := range data {
				data[i] = byte(first + i + 1)
			}
			m.plain(quoteJSON(base64.StdEncoding.EncodeToString(data)), data)
		}
	}
}

// sizes returns the bounds of an interval that are small enough for a specimen.
func sizes(of interval) (out []int) {
	for _, bound := range []*big.Rat{of.low, of.high} {
		if bound != nil && bound.Sign() >= 0 && bound.Cmp(big.NewRat(1<<10, 1)) <= 0 {
			out = append(out, int(bound.Num().Int64()))
		}
	}
	return out
}

// specimenUUIDs has one of each version; the digits at the end are counted.
var specimenUUIDs = []string{
	"0190b3a1-7c3e-7000-8000-000000000001", "0190b3a1-7c3e-4000-8000-000000000001",
	"0190b3a1-7c3e-3000-8000-000000000001", "0190b3a1-7c3e-5000-8000-000000000001",
}

// counted returns a UUID, or the nth that follows it.
func counted(id string, n int) string { return id[:len(id)-3] + fmt.Sprintf("%03x", n+1) }

// listed returns the values of an enum from a choice on, or of oneof.
func listed(rules tag, choice int) []string {
	for _, r := range rules.list {
		values := r.Listed()
		switch {
		case r.Name == "enum" && len(values) > 0:
			first := choice % len(values)
			return slices.Concat(values[first:], values[:first])
		case r.Name == "oneof":
			return values
		case r.Name == "eq":
			return []string{r.Param}
		}
	}
	return nil
}

// numberCandidates returns numbers that rules may take.
func numberCandidates(word string, rules tag, choice int) [][]string {
	bounds := prover{typ: word, old: rules.list, zero: true}.bounds()
	out := [][]string{listed(rules, choice)}
	var from []*big.Rat
	for _, r := range rules.list {
		if n, err := strconv.Atoi(r.Param); r.Name == "min" && err == nil {
			from = append(from, big.NewRat(int64(n), 1))
		}
	}
	from = append(from, big.NewRat(1, 1))
	for _, bound := range []*big.Rat{bounds.low, bounds.high} {
		if bound != nil {
			from = append(from, bound)
		}
	}
	if bounds.low != nil && bounds.high != nil {
		from = append(from, new(big.Rat).Quo(new(big.Rat).Add(bounds.low, bounds.high), big.NewRat(2, 1)))
	}
	for _, first := range from {
		var family []string
		for n := range int64(variants) {
			for _, by := range []int64{n, -n} {
				v := new(big.Rat).Add(first, big.NewRat(by, 1))
				switch {
				case v.IsInt():
					family = append(family, v.Num().String())
				case !strings.Contains(word, "int"):
					family = append(family, strings.TrimRight(v.FloatString(6), "0"))
				}
			}
		}
		out = append(out, family)
	}
	return out
}

// textForms have texts of the formats that rules ask for. %s stands for the number of a
// variant, which is nothing for the first, and %d for one counted from 1.
var textForms = []string{
	"text%s", "someone%s@example.org", "https://example.org/%s", "TEXT%s", "%d", "+471234567%d", "#00000%d", "rgb(0,0,%d)", "192.0.2.%d", "2001:db8::%d",
	"192.0.2.%d/32", "2001:db8::%d/128", "00:00:5e:00:53:0%d", "host%s.example.org", "host%s.example.org:80", "1.0.%d", "%d.5", "true", "false", `{"n":%d}`,
	"NO", "NOR", "NOK", "nb", "Europe/Oslo", "4111111111111111", "123-45-678%d", "978-3-16-148410-0", "3-16-148410-0",
	"01ARZ3NDEKTSV4RRFFQ69G5FA%d", "dGV4dA==", "* * * * *", "/text%s", "file%s.txt", "data:text/plain,text%s", "<p>%s", "é%s",
}

// textCandidates returns texts that rules may take.
func textCandidates(rules tag, choice int) [][]string {
	out := [][]string{listed(rules, choice)}
	family := func(of func(n int) string) {
		var all []string
		for n := range variants {
			all = append(all, of(n))
		}
		out = append(out, all)
	}
	var before, within, after string
	for _, r := range rules.list {
		switch {
		case r.Name == "startswith":
			before = r.Param
		case strings.HasPrefix(r.Name, "contains"):
			within = r.Param
		case r.Name == "endswith":
			after = r.Param
		case r.Name == "datetime":
			family(func(n int) string { return specimenTime.AddDate(n, n, n).Format(r.Param) })
		case strings.HasPrefix(r.Name, "uuid"):
			for _, id := range specimenUUIDs {
				family(func(n int) string { return counted(id, n) })
			}
		}
	}
	if before+within+after != "" {
		family(func(n int) string { return before + within + variant(n) + after })
		family(func(n int) string { return before + "text" + within + variant(n) + after })
		for _, size := range sizes(prover{typ: "string", old: rules.list}.bounds()) {
			fill := max(0, size-len(before+within+after)-3)
			family(func(n int) string {
				return before + strings.Repeat("x", fill) + fmt.Sprintf("%03d", n) + within + after
			})
		}
	}
	for _, form := range textForms {
		family(func(n int) string {
			return strings.NewReplacer("%s", variant(n), "%d", strconv.Itoa(n+1)).Replace(form)
		})
	}
	for _, size := range sizes(prover{typ: "string", old: rules.list}.bounds()) {
		for _, letters := range []string{"abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"} {
			var all []string
			for n := 0; n < len(letters) && size > 0; n++ { // of this size, which differ in the last
				all = append(all, strings.Repeat(letters[:1], size-1)+letters[n:n+1])
			}
			out = append(out, all)
		}
	}
	for _, size := range []int{24, 32, 40, 64, 96, 128} {
		family(func(n int) string { return fmt.Sprintf("%0*x", size, n+1) })
	}
	return out
}

// move returns a number or a time that is a little more or less than another, as a rule such as
// gtfield compares it.
func move(value, rule string) (string, bool) {
	by := 1
	if strings.HasPrefix(rule, "lt") {
		by = -1
	}
	if n, ok := new(big.Rat).SetString(value); ok && n.IsInt() {
		return n.Add(n, big.NewRat(int64(by), 1)).Num().String(), true
	}
	text, err := strconv.Unquote(value)
	if err != nil {
		return "", false
	}
	at, err := time.Parse(time.RFC3339, text)
	return quoteJSON(at.AddDate(by, 0, 0).Format(time.RFC3339)), err == nil
}

// quoteJSON writes a string as JSON.
func quoteJSON(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return `""`
	}
	return string(b)
}
