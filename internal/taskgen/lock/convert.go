package lock

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"taskkit.dev/internal/taskgen/model"
)

// readable reports whether every value of the type was, which holds no others, is
// read, with nothing lost, as a value of the type is.
func readable(was, is string) bool {
	if was == is {
		return true
	}
	if is == "bigint" {
		return was == "json" || strings.Contains(was, "int") // the former was its word once
	}
	if is == "json" {
		return was == "bigint"
	}
	if is == "string" {
		return was == "time" || was == "uuid" || was == "text"
	}
	return widened(was, is)
}

// numberWord splits int32 into int and 32.
var numberWord = regexp.MustCompile(`^(int|uint|float)(\d+)$`)

// widened reports whether a number's type became one that holds all its values.
func widened(was, is string) bool {
	m, n := numberWord.FindStringSubmatch(was), numberWord.FindStringSubmatch(is)
	if m == nil || n == nil {
		return false
	}
	from, _ := strconv.Atoi(m[2])
	to, _ := strconv.Atoi(n[2])
	switch m[1] + n[1] {
	case "intint", "uintuint", "floatfloat":
		return from <= to
	case "uintint":
		return from < to
	case "intfloat", "uintfloat":
		return cmp.Compare(from, wholeBits[to]) <= 0
	default:
		return false
	}
}

// narrowed reports whether the rules of an integer leave no value that a type with a smaller
// range does not hold.
func narrowed(f model.Fact, was, is string) bool {
	n := numberWord.FindStringSubmatch(is)
	if m := numberWord.FindStringSubmatch(was); m == nil || n == nil || m[1] == "float" {
		return false
	}
	bits, _ := strconv.Atoi(n[2])
	if n[1] == "float" { // whole numbers that it holds exactly
		bits = wholeBits[bits] + 1
	}
	fits := prover{typ: strings.Replace(n[1], "float", "int", 1) + strconv.Itoa(bits), zero: true}
	all := prover{typ: was, old: readTag(f, false).list, zero: true}
	if values, few := all.values(); few {
		return !slices.ContainsFunc(values, func(v string) bool {
			value, ok := number(v)
			return !ok || !interval{low: value, high: value}.within(fits.bounds())
		})
	}
	return all.bounds().within(fits.bounds())
}

// wholeBits has the bits of the whole numbers up to which a float holds each.
var wholeBits = map[int]int{32: 24, 64: 53}

// carries reports whether a rule says of a stored value of one type what it says of the value
// of another that is read from it. A length of bytes is none of their base64, and 010 is eight
// for an integer and ten for a float.
func carries(r model.Rule, was, is string) bool {
	was, is = strings.TrimLeft(was, "?"), strings.TrimLeft(is, "?")
	switch {
	case was == is:
		return true
	case is == "string", is == "bigint":
		return false
	case strings.HasPrefix(is, "float") && strings.Contains(was, "int"):
		return !slices.ContainsFunc(r.Alternatives(), func(a model.Rule) bool {
			whole, isWhole := number(a.Param)
			float, isFloat := floating(a.Param, strings.TrimPrefix(is, "float"))
			return isWhole != isFloat || isWhole && whole.Cmp(float) != 0
		})
	default:
		return true
	}
}

// nonNull is the word of bytes of which no null is stored.
const nonNull = "nonnull"

// keepWords removes the word nonnull where an earlier revision may have stored null, so that
// a change of the json tag alone makes no revision, and each revision speaks for those before.
// A big.Int that has the word json, as it once had, keeps it.
func keepWords(now []model.Fact, before model.Revision) {
	for i, f := range now {
		old := factsOf(before, f.Part)
		was, had := old[f.Path]
		if had && was.Type == strings.ReplaceAll(f.Type, "bigint", "json") {
			now[i].Type = was.Type
		}
		again := slices.ContainsFunc(before.Facts, func(o model.Fact) bool { return o.Part == f.Part && strings.Contains(o.Type, "^") })
		if had && was.Type == "bytes" && !was.Has(nonNull) || !had && again { // the latter may be at another path
			now[i].Words = slices.DeleteFunc(slices.Clone(f.Words), func(w string) bool { return w == nonNull })
		}
	}
}
