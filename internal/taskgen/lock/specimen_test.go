package lock

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/taskgen/model"
)

// TestSpecimensPassValidation: a specimen of a spec keeps its rules, and has the field.
func TestSpecimensPassValidation(t *testing.T) {
	t.Parallel()
	text := &model.Type{Form: model.String, Kind: reflect.String, Source: "string"}
	whole := &model.Type{Form: model.Int, Kind: reflect.Int64, Source: "int64", Bits: 64}
	float := &model.Type{Form: model.Float, Kind: reflect.Float64, Source: "float64", Bits: 64}
	id := &model.Type{Form: model.UUID, Kind: reflect.Array, Source: "«github.com/google/uuid|uuid».UUID"}
	at := &model.Type{Form: model.Time, Kind: reflect.Struct, Source: "«time|time».Time"}
	list := func(of *model.Type) *model.Type {
		return &model.Type{Form: model.Slice, Kind: reflect.Slice, Source: "[]" + of.Source, Elem: of}
	}
	byText := &model.Type{Form: model.Map, Kind: reflect.Map, Source: "map[string]int64", Key: text, Elem: whole}
	for _, c := range []struct {
		typ  *model.Type
		like any
		tags string
	}{
		{text, "", "required;min=5;max=2;len=7;len=300;min=3,max=3;gt=4;lt=2;ne=text;ne=text,ne=text2;email;url;http_url;uri;uuid;uuid4;uuid7;uuid3;uuid5;" +
			"alpha;alphanum;numeric;number;boolean;hexadecimal;hexcolor;rgb;lowercase;uppercase;ip;ipv4;ipv6;cidr;cidrv4;cidrv6;mac;hostname;fqdn;hostname_port;" +
			"datetime=2006-01-02;datetime=15:04;timezone;startswith=a/;startswith=INV-,len=9;endswith=.csv;contains=@;containsany=!?;excludes=e;excludesall=tx;startsnotwith=t;" +
			"oneof=a b;oneof='x y' z;eq=q;noneof=text;e164;latitude;json;base64;semver;md5;sha256;sha512;mongodb;iso3166_1_alpha2;iso3166_1_alpha3;iso4217;bcp47_language_tag;" +
			"credit_card;ssn;isbn;ulid;cron;email|url;eq=a|eq=b;omitempty,min=9;ascii;multibyte;required,alpha,uppercase,len=3"},
		{whole, int64(0), "required;min=5;max=-3;gt=9;lt=0;min=-9,max=-7;eq=4;ne=1;oneof=7 8;omitempty,min=1000000000000;max=0"},
		{float, 0.0, "required;min=0.25;gt=0,lt=1;gt=0.1,lt=0.2;max=-0.5;eq=1.5"},
		{id, uuid.UUID{}, "required;uuid4;uuid7"},
		{at, time.Time{}, "required;gt;lt"},
		{list(text), []string(nil), "required;min=3;max=1;len=5;unique;unique,min=40;unique,dive,oneof=a b;unique,dive,email;dive,min=9;unique,dive,len=2;unique,dive,boolean;len=0"},
		{list(whole), []int64(nil), "unique,dive,max=0;unique,dive,min=10,max=11;unique,len=3,dive,max=5"},
		{list(id), []uuid.UUID(nil), "unique;unique,min=60;dive,uuid4"},
		{list(list(text)), [][]string(nil), "dive,unique;dive,min=3,dive,min=6"},
		{byText, map[string]int64(nil), "required;min=2;dive,keys,min=5,endkeys,min=7;min=3,dive,keys,oneof=a b c,endkeys;unique,min=2"},
	} {
		for tag := range strings.SplitSeq(c.tags, ";") {
			spec := &model.Type{Form: model.Struct, Kind: reflect.Struct, Source: "Spec", Fields: []model.Field{
				{Go: "F", JSON: "f", Type: c.typ, Rules: model.ParseRules(tag)},
			}}
			checkSpecimens(t, spec, tag, reflect.StructField{Name: "F", Type: reflect.TypeOf(c.like), Tag: reflect.StructTag(`json:"f" ` + string(model.ValidateTag(tag)))})
		}
	}
}

// TestSpecimensOfObjectsDiffer: elements differ in the field that unique names, though it is not required.
func TestSpecimensOfObjectsDiffer(t *testing.T) {
	t.Parallel()
	text := &model.Type{Form: model.String, Kind: reflect.String, Source: "string"}
	row := &model.Type{Form: model.Struct, Kind: reflect.Struct, Source: "Row", Fields: []model.Field{{Go: "V", JSON: "v", Type: text}}}
	type like struct {
		V string `json:"v"`
	}
	for _, tag := range []string{"unique=V", "unique=V,min=2", "unique,len=5", "required,unique=V,min=40"} {
		spec := &model.Type{Form: model.Struct, Kind: reflect.Struct, Source: "Spec", Fields: []model.Field{{
			Go: "F", JSON: "f", Rules: model.ParseRules(tag), Type: &model.Type{Form: model.Slice, Kind: reflect.Slice, Source: "[]Row", Elem: row},
		}}}
		checkSpecimens(t, spec, tag, reflect.StructField{Name: "F", Type: reflect.TypeFor[[]like](), Tag: reflect.StructTag(`json:"f" ` + string(model.ValidateTag(tag)))})
	}
}

// TestSpecimensPassRulesOfSiblings is TestSpecimensPassValidation for two fields.
func TestSpecimensPassRulesOfSiblings(t *testing.T) {
	t.Parallel()
	whole := &model.Type{Form: model.Int, Kind: reflect.Int64, Source: "int64", Bits: 64}
	for _, c := range [][2]string{
		{"", "gtfield=A"},
		{"", "ltfield=A"},
		{"min=7", "gtefield=A"},
		{"", "eqfield=A"},
		{"", "nefield=A"},
		{"", "ltefield=A"},
		{"required_without=B,excluded_with=B", "required_without=A,excluded_with=A"},
		{"", "excluded_with=A"},
		{"", "required_with=A"},
		{"", "excluded_if=A 1"},
		{"", "excluded_without=A"},
		{"", "required_if=A 1"},
		{"omitempty,gtfield=B", "max=3"},
	} {
		spec := &model.Type{Form: model.Struct, Kind: reflect.Struct, Source: "Spec", Fields: []model.Field{
			{Go: "A", JSON: "a", Type: whole, Rules: model.ParseRules(c[0])}, {Go: "B", JSON: "b", Type: whole, Rules: model.ParseRules(c[1])},
		}}
		field := func(name, tag string) reflect.StructField {
			return reflect.StructField{Name: name, Type: reflect.TypeFor[int64](), Tag: reflect.StructTag(`json:"` + strings.ToLower(name) + `" ` + string(model.ValidateTag(tag)))}
		}
		checkSpecimens(t, spec, strings.Join(c[:], " and "), field("A", c[0]), field("B", c[1]))
	}
}

// checkSpecimens validates each specimen of a spec. The fullest has one field at least.
func checkSpecimens(t *testing.T, spec *model.Type, name string, fields ...reflect.StructField) {
	t.Helper()
	x := &model.Executor{Kind: "k", Spec: spec, State: &model.Type{Form: model.Struct, Kind: reflect.Struct, Source: "State"}}
	full := false
	for _, s := range Specimens([]model.Revision{{Number: 1, Facts: facts(x)}}) {
		if s.Part != "spec" {
			continue
		}
		full = full || s.JSON != "{}"
		v := reflect.New(reflect.StructOf(fields))
		if err := json.Unmarshal([]byte(s.JSON), v.Interface()); err != nil {
			t.Errorf("%s %q: %s: %v", fields[0].Type, name, s.JSON, err)
		}
		if failed, problem := model.Validates(v); failed || problem != "" {
			t.Errorf("%s %q: the specimen %s breaks the rules %s", fields[0].Type, name, s.JSON, problem)
		}
	}
	if !full {
		t.Errorf("%s %q: no specimen has the field", fields[0].Type, name)
	}
}
