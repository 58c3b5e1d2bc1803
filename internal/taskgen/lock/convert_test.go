package lock

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"taskkit.dev/internal/taskgen/model"
)

// TestNonNullSpeaksForEarlierRevisions: bytes whose json tag leaves nil out are marked only if
// no revision before may have stored null.
func TestNonNullSpeaksForEarlierRevisions(t *testing.T) {
	t.Parallel()
	field := func(path string, words ...string) model.Fact {
		return model.Fact{Part: "spec", Path: path, Type: "bytes", Words: words}
	}
	again := model.Fact{Part: "spec", Path: "next", Type: "?^"}
	for name, c := range map[string]struct {
		before []model.Fact
		want   bool
	}{
		"a first revision":           {nil, true},
		"marked before":              {[]model.Fact{field("a", "nonnull")}, true},
		"null may be stored":         {[]model.Fact{field("a")}, false},
		"another type before":        {[]model.Fact{{Part: "spec", Path: "a", Type: "string"}}, true},
		"another field before":       {[]model.Fact{field("b")}, true},
		"perhaps by another path":    {[]model.Fact{field("b"), again}, false},
		"marked, beside a recursion": {[]model.Fact{field("a", "nonnull"), again}, true},
	} {
		now := []model.Fact{field("a", "max=3", "nonnull")}
		keepWords(now, model.Revision{Facts: c.before})
		if got := now[0].Has("nonnull"); got != c.want || !slices.Contains(now[0].Words, "max=3") {
			t.Errorf("%s: %v, want marked: %v", name, now[0], c.want)
		}
	}
}

// TestNarrowedHoldsAll makes tags from a fixed seed: where an integer may become a narrower one,
// each value that validator takes fits it.
func TestNarrowedHoldsAll(t *testing.T) {
	t.Parallel()
	whole := ruleSource{
		typ: &model.Type{Form: model.Int, Kind: reflect.Int64, Source: "int64", Bits: 64},
		rules: strings.Fields("required max=127 max=128 max=100 max=0100 max=0x7F lt=128 lt=129 lte=127 min=-128 min=-129 min=0 min=-1 gt=-1 gt=-129 gte=-128 " +
			"len=5 len=300 eq=7 eq=200 ne=0 isdefault max=5|min=200 eq=1|eq=300 omitempty"),
		words: []string{"oneof=1 2 127", "oneof=1 300", "noneof=300"},
	}
	var values []int64
	for n := int64(-310); n <= 310; n++ {
		values = append(values, n)
	}
	r := rand.New(rand.NewPCG(3, 4))
	allowed := 0
	for range 400 {
		tag := whole.tag(r, nil)
		for _, to := range []*model.Type{
			{Form: model.Int, Kind: reflect.Int8, Source: "int8", Bits: 8}, {Form: model.Uint, Kind: reflect.Uint8, Source: "uint8", Bits: 8},
		} {
			narrow := ruleSource{typ: to}
			if len(compareParts(whole.facts(ruleSource{}, tag), narrow.facts(ruleSource{}, ""))) > 0 {
				continue
			}
			allowed++
			for _, n := range values {
				fits := n >= -128 && n <= 127
				if to.Form == model.Uint {
					fits = n >= 0 && n <= 255
				}
				if !fits && !whole.refuses(reflect.Value{}, reflect.ValueOf(n), tag) {
					t.Errorf("%q: int64 becomes %s, and %d is taken", tag, to.Source, n)
				}
			}
		}
	}
	if allowed < 20 {
		t.Errorf("only %d changes are allowed", allowed)
	}
}
