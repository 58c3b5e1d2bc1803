package lock

import (
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"taskkit.dev/internal/taskgen/model"
)

// implied says which rules of strings hold wherever another does; what follows from
// several steps is found. TestImplied holds each pair against validator.
var implied = map[string]string{
	"uuid3": "uuid uuid3_rfc4122", "uuid4": "uuid uuid4_rfc4122", "uuid5": "uuid uuid5_rfc4122", "uuid7": "uuid",
	"uuid": "uuid_rfc4122", "uuid3_rfc4122": "uuid_rfc4122", "uuid4_rfc4122": "uuid_rfc4122", "uuid5_rfc4122": "uuid_rfc4122",
	"uuid_rfc4122": "printascii",

	"alpha": "alphanum alphaspace alphaunicode", "alphanum": "alphanumspace alphanumunicode printascii",
	"alphaspace": "alphanumspace", "alphaunicode": "alphanumunicode", "alphanumspace": "ascii",
	"printascii": "ascii", "number": "numeric alphanum hexadecimal", "numeric": "printascii",
	"hexadecimal": "alphanum", "boolean": "alphanum", "e164": "printascii", "latitude": "longitude",

	"hexcolor": "iscolor printascii", "rgb": "iscolor", "rgba": "iscolor", "hsl": "iscolor", "hsla": "iscolor", "cmyk": "iscolor",
	"https_url": "http_url", "http_url": "url",
	"ipv4": "ip", "ipv6": "ip", "cidrv4": "cidr", "cidrv6": "cidr", "hostname": "hostname_rfc1123",
	"isbn10": "isbn", "isbn13": "isbn", "eth_addr_checksum": "eth_addr", "eth_addr": "alphanum", "semver": "printascii",
	"md4": "md5 hexadecimal", "md5": "md4 hexadecimal", "sha256": "hexadecimal", "sha384": "hexadecimal", "sha512": "hexadecimal", "mongodb": "hexadecimal",
	"ssn": "printascii", "base64url": "printascii", "base64rawurl": "printascii", "jwt": "printascii", "timezone": "printascii",

	"gtfield": "gtefield nefield", "ltfield": "ltefield nefield", "eqfield": "gtefield ltefield",
}

// lengths has the number of characters of what some rules take.
var lengths = map[string]int64{
	"uuid_rfc4122": 36, "ulid": 26, "md5": 32, "sha256": 64, "sha384": 96, "sha512": 128, "mongodb": 24, "eth_addr": 42,
}

// prover finds the rules that hold for every value that was taken before. The zero
// value is compared elsewhere, so that it is left out here, unless zero is set: then it
// depended on other fields.
type prover struct {
	typ     string // of the old value
	old     []model.Rule
	zero    bool
	refuses bool // the zero value was refused, whatever other fields were
}

// proves reports whether the old rules imply one. Of alternatives each of the old must
// imply one of the new.
func (p prover) proves(r model.Rule) bool {
	for i, o := range p.old {
		if o == r {
			return true
		}
		if all := o.Alternatives(); len(all) > 1 {
			for _, a := range all {
				one := prover{p.typ, slices.Concat(p.old[:i], []model.Rule{a}, p.old[i+1:]), p.zero, p.refuses}
				if !one.proves(r) {
					return false
				}
			}
			return true
		}
	}
	if slices.ContainsFunc(r.Alternatives(), p.one) {
		return true
	}
	values, few := p.values()
	return few && !r.ComparesSiblings() && !slices.ContainsFunc(values, func(v string) bool { return p.refusesText(v, []model.Rule{r}) })
}

// one is proves for rules without alternatives, and does not try single values.
func (p prover) one(r model.Rule) bool {
	if slices.ContainsFunc(p.old, func(o model.Rule) bool { return ruleImplies(o, r) }) {
		return true
	}
	base := strings.TrimLeft(p.typ, "?")
	switch r.Name {
	case "ne", "noneof":
		if r.Name == "ne" {
			if _, size := p.sized(); size {
				break
			}
			r.Param = "'" + r.Param + "'"
		}
		return !slices.ContainsFunc(r.Listed(), func(v string) bool { return !p.refusesText(v, p.old) && (p.zero || !p.isZero(v)) })
	case "uuid", "uuid_rfc4122":
		if base == "uuid" {
			return true
		}
	case "numeric", "number":
		if numberWord.MatchString(base) {
			return true
		}
	case "unique":
		if high := p.bounds().high; high != nil && high.Cmp(big.NewRat(1, 1)) <= 0 {
			return true
		}
	case "required_if", "required_with", "required_with_all", "required_without", "required_without_all", "required_unless":
		if p.refuses {
			return true
		}
	}
	return p.bounds().within(p.bound(r))
}

// isZero reports whether a word is the zero value.
func (p prover) isZero(v string) bool {
	f, err := strconv.ParseFloat(v, 64)
	return v == "" || err == nil && f == 0 && numberWord.MatchString(strings.TrimLeft(p.typ, "?"))
}

// values returns the old values when there are few, but for zero.
func (p prover) values() (values []string, few bool) {
	base := strings.TrimLeft(p.typ, "?")
	if base == "bool" {
		values, few = []string{"true"}, true
	}
	scalar := base == "string" || numberWord.MatchString(base)
	for _, o := range p.old {
		switch {
		case o.Name == "isdefault":
			return nil, true
		case few || !scalar:
		case o.Name == "oneof" || o.Name == "enum":
			values, few = o.Listed(), true
		case o.Name == "eq" && !strings.HasPrefix(base, "float"):
			values, few = []string{o.Param}, true
		}
	}
	if b := p.bounds(); !few && strings.Contains(base, "int") && numberWord.MatchString(base) && b.low != nil && b.high != nil {
		for n := new(big.Rat).Set(b.low); n.Cmp(b.high) <= 0; n.Add(n, big.NewRat(1, 1)) {
			if values = append(values, n.RatString()); len(values) > 256 {
				return nil, false
			}
		}
		few = true
	}
	return slices.DeleteFunc(values, func(v string) bool { return p.isZero(v) && !p.zero || p.refusesText(v, p.old) }), few
}

// refusesText reports whether validator, with rules, refuses a value written as text. Rules about
// other fields are left out.
func (p prover) refusesText(text string, rules []model.Rule) bool {
	for _, r := range rules {
		if (r.Name == "enum" || r.Name == "oneof") && !slices.Contains(r.Listed(), text) {
			return true
		}
	}
	t := tag{list: rules}
	like := likeWord(strings.TrimLeft(p.typ, "?"), t.alone())
	if like == nil {
		return true
	}
	v := reflect.New(like).Elem()
	switch {
	case v.Kind() == reflect.String:
		v.SetString(text)
	case v.Kind() == reflect.Bool:
		v.SetBool(text == "true")
	case v.CanInt():
		n, err := strconv.ParseInt(text, 0, 64)
		if d, e := time.ParseDuration(text); err != nil && e == nil {
			n = int64(d)
		} else if err != nil {
			return true
		}
		v.SetInt(n)
	case v.CanUint():
		n, err := strconv.ParseUint(text, 0, 64)
		if err != nil {
			return true
		}
		v.SetUint(n)
	case v.CanFloat():
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return true
		}
		v.SetFloat(n)
	default:
		return false
	}
	refused, known := refusesValue(v, t.alone())
	return refused || !known
}

// ruleImplies reports whether one rule implies another by what they are.
func ruleImplies(o, r model.Rule) bool {
	if o == r {
		return true
	}
	same := o.Name == r.Name
	has := func(all, some string) bool { return some != "" && strings.Contains(all, some) }
	subset := func(a, b []string) bool {
		return !slices.ContainsFunc(a, func(x string) bool { return !slices.Contains(b, x) })
	}
	switch o.Name {
	case "noneof", "noneofci":
		return same && subset(r.Listed(), o.Listed()) || r.Name == "ne" && o.Name == "noneof" && slices.Contains(o.Listed(), r.Param)
	case "oneof", "oneofci":
		return same && subset(o.Listed(), r.Listed()) || o.Name == "oneof" && r.Name == "oneofci" && subset(o.Listed(), r.Listed())
	case "contains", "startswith", "endswith":
		switch r.Name {
		case "contains":
			return has(o.Param, r.Param)
		case "containsany":
			return strings.ContainsAny(o.Param, r.Param)
		case "startswith":
			return same && strings.HasPrefix(o.Param, r.Param)
		case "endswith":
			return same && strings.HasSuffix(o.Param, r.Param)
		}
	case "containsany", "excludesall":
		a, b := strings.Split(o.Param, ""), strings.Split(r.Param, "")
		return same && (o.Name == "containsany" && subset(a, b) || o.Name == "excludesall" && subset(b, a)) ||
			o.Name == "excludesall" && r.Name == "excludes" && strings.ContainsAny(r.Param, o.Param) ||
			o.Name == "excludesall" && r.Name == "excludesrune" && strings.ContainsAny(firstRune(r.Param), o.Param)
	case "excludes":
		return same && has(r.Param, o.Param)
	case "startsnotwith":
		return same && o.Param != "" && strings.HasPrefix(r.Param, o.Param)
	case "endsnotwith":
		return same && o.Param != "" && strings.HasSuffix(r.Param, o.Param)
	}
	if slices.Contains(model.SiblingRules, o.Name) {
		return siblingImplies(o, r, subset)
	}
	return o.Param == "" && r.Param == "" && leads(o.Name, r.Name)
}

// firstRune returns the first character of a text: rules about a rune read no more of their parameter.
func firstRune(s string) string {
	_, size := utf8.DecodeRuneInString(s)
	return s[:size]
}

// siblingImplies is ruleImplies for rules about other fields.
func siblingImplies(o, r model.Rule, subset func(a, b []string) bool) bool {
	fewer, more := subset(pairsOf(r), pairsOf(o)), subset(pairsOf(o), pairsOf(r))
	before, rest, _ := strings.Cut(o.Name, "_")
	after, other, _ := strings.Cut(r.Name, "_")
	switch {
	case strings.HasSuffix(o.Name, "field"):
		return o.Param == r.Param && leads(o.Name, r.Name)
	case before != after, before != "required" && before != "excluded":
		return false
	case rest == "if", rest == "with_all", rest == "without_all", rest == "unless":
		return rest == other && more
	case rest == "with":
		return other == "with" && fewer || other == "with_all" && intersects(pairsOf(o), pairsOf(r))
	default: // without
		return other == "without" && fewer || other == "without_all" && intersects(pairsOf(o), pairsOf(r))
	}
}

func intersects(a, b []string) bool {
	return slices.ContainsFunc(a, func(x string) bool { return slices.Contains(b, x) })
}

// pairsOf returns the fields of a rule, with the values that it names.
func pairsOf(r model.Rule) []string {
	words := r.Listed()
	if !strings.HasSuffix(r.Name, "_if") && !strings.HasSuffix(r.Name, "_unless") {
		return words
	}
	var out []string
	for i := 0; i+1 < len(words); i += 2 {
		out = append(out, words[i]+" "+words[i+1])
	}
	return out
}

// leads follows the table.
func leads(from, to string) bool {
	seen := []string{from}
	for i := 0; i < len(seen); i++ {
		for next := range strings.FieldsSeq(implied[seen[i]]) {
			if !slices.Contains(seen, next) {
				seen = append(seen, next)
			}
		}
	}
	return slices.Contains(seen, to)
}

// interval is the values or sizes from low to high; nil is no bound.
type interval struct {
	low, high         *big.Rat
	lowOpen, highOpen bool
}

// and returns what lies in both.
func (a interval) and(b interval) interval {
	if b.low != nil && (a.low == nil || b.low.Cmp(a.low) > 0 || b.low.Cmp(a.low) == 0 && b.lowOpen) {
		a.low, a.lowOpen = b.low, b.lowOpen
	}
	if b.high != nil && (a.high == nil || b.high.Cmp(a.high) < 0 || b.high.Cmp(a.high) == 0 && b.highOpen) {
		a.high, a.highOpen = b.high, b.highOpen
	}
	return a
}

// within reports whether another has all of it. One without bounds is the interval of no
// rule, which nothing implies.
func (a interval) within(b interval) bool {
	both := a.and(b)
	return (b.low != nil || b.high != nil) && sameBound(a.low, both.low) && sameBound(a.high, both.high) && a.lowOpen == both.lowOpen && a.highOpen == both.highOpen
}

func sameBound(a, b *big.Rat) bool {
	return a == nil && b == nil || a != nil && b != nil && a.Cmp(b) == 0
}

// sized reports whether rules such as max count elements or characters, and how
// many an array has.
func (p prover) sized() (n int64, size bool) {
	base := strings.TrimLeft(p.typ, "?")
	if m := arrayWord.FindStringSubmatch(base); m != nil {
		n, err := strconv.ParseInt(m[1], 10, 64)
		if err != nil {
			n = -1
		}
		return n, true
	}
	return -1, mapWord.MatchString(base) || base == "bytes" || base == "uuid"
}

// bounds returns the interval in which all old values or sizes lie.
func (p prover) bounds() (all interval) {
	base := strings.TrimLeft(p.typ, "?")
	n, size := p.sized()
	m := numberWord.FindStringSubmatch(base)
	switch {
	case n >= 0:
		all = interval{low: big.NewRat(n, 1), high: big.NewRat(n, 1)}
	case size || base == "string":
		all.low = big.NewRat(1, 1)
		if p.zero {
			all.low = new(big.Rat)
		}
	case m != nil && m[1] != "float":
		bits, _ := strconv.Atoi(m[2])
		one := big.NewInt(1)
		low, high := new(big.Int), new(big.Int).Sub(new(big.Int).Lsh(one, uint(bits)), one)
		if m[1] == "int" {
			low, high = new(big.Int).Neg(new(big.Int).Lsh(one, uint(bits-1))), new(big.Int).Sub(new(big.Int).Lsh(one, uint(bits-1)), one)
		} else if !p.zero {
			low = one
		}
		all = interval{low: new(big.Rat).SetInt(low), high: new(big.Rat).SetInt(high)}
	}
	for _, o := range p.old {
		if !strings.Contains(o.Name, "|") {
			all = all.and(p.bound(o))
		}
		for name, length := range lengths {
			if base == "string" && leads(o.Name, name) {
				all = all.and(interval{low: big.NewRat(length, 1), high: big.NewRat(length, 1)})
			}
		}
	}
	return all
}

// bound returns the interval of one rule, without bounds when it has none.
func (p prover) bound(r model.Rule) interval {
	base := strings.TrimLeft(p.typ, "?")
	_, size := p.sized()
	whole := size || base == "string" || strings.HasPrefix(base, "int") || strings.HasPrefix(base, "uint")
	n, ok := number(r.Param)
	if bits, float := strings.CutPrefix(base, "float"); float {
		n, ok = floating(r.Param, bits)
	}
	if !ok || !whole && !numberWord.MatchString(base) {
		return interval{}
	}
	step := big.NewRat(1, 1)
	switch r.Name {
	case "min", "gte":
		return interval{low: n}
	case "max", "lte":
		return interval{high: n}
	case "gt":
		if whole {
			return interval{low: n.Add(n, step)}
		}
		return interval{low: n, lowOpen: true}
	case "lt":
		if whole {
			return interval{high: n.Sub(n, step)}
		}
		return interval{high: n, highOpen: true}
	case "eq":
		if base == "string" {
			return interval{}
		}
		return interval{low: n, high: n}
	case "len":
		return interval{low: n, high: n}
	default:
		return interval{}
	}
}

// floating reads the parameter of a rule for a float, as validator does: 010 is ten there, and
// eight for an integer.
func floating(s, bits string) (*big.Rat, bool) {
	size, _ := strconv.Atoi(bits)
	f, err := strconv.ParseFloat(s, size)
	n := new(big.Rat).SetFloat64(f) // nil for an infinity
	return n, err == nil && n != nil
}

// number reads the parameter of a rule: a number or a duration.
func number(s string) (*big.Rat, bool) {
	if n, ok := new(big.Int).SetString(s, 0); ok {
		return new(big.Rat).SetInt(n), true
	}
	if n, ok := new(big.Rat).SetString(s); ok && !strings.Contains(s, "/") {
		return n, true
	}
	d, err := time.ParseDuration(s)
	return big.NewRat(int64(d), 1), err == nil
}
