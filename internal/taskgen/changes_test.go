package taskgen

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"

	"taskkit.dev/internal/taskgen/emit"
	"taskkit.dev/internal/taskgen/load"
	"taskkit.dev/internal/taskgen/lock"
	"taskkit.dev/internal/taskgen/model"
)

// compiler is a module in which small packages are checked in this process: the go
// command runs once, for what they import.
type compiler struct {
	dir     string
	imports map[string]*types.Package
	packed  *packages.Module
}

func newCompiler(t *testing.T) *compiler {
	t.Helper()
	j := &compiler{dir: newModule(t, "example.test"), imports: map[string]*types.Package{}}
	write(t, filepath.Join(j.dir, "all", "all.go"), []byte(`package all

import (
	_ "context"
	_ "encoding/json"
	_ "math/big"
	_ "net/netip"
	_ "strconv"
	_ "time"

	_ "github.com/google/uuid"

	_ "taskkit.dev/taskkit"
	_ "taskkit.dev/taskkit/taskjson"
)
`))
	pkgs, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedTypes | packages.NeedImports | packages.NeedDeps | packages.NeedModule, Dir: j.dir, Context: t.Context(),
	}, "./all")
	if err != nil {
		t.Fatal(err)
	}
	j.packed = pkgs[0].Module
	packages.Visit(pkgs, nil, func(p *packages.Package) { j.imports[p.PkgPath] = p.Types })
	return j
}

// Import implements [types.Importer].
func (j *compiler) Import(path string) (*types.Package, error) {
	if p := j.imports[path]; p != nil && p.Complete() {
		return p, nil
	}
	return nil, fmt.Errorf("%s is not loaded", path)
}

// check compiles files to a package, without running the go command.
func (j *compiler) check(fset *token.FileSet, path string, files ...*ast.File) (*packages.Package, error) {
	info := &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}, Types: map[ast.Expr]types.TypeAndValue{}}
	pkg, err := (&types.Config{Importer: j}).Check(path, fset, files, info)
	return &packages.Package{PkgPath: path, Name: files[0].Name.Name, Syntax: files, Types: pkg, TypesInfo: info, Module: j.packed}, err
}

// generate makes the output for a declaration, as the generator does.
func (j *compiler) generate(t *testing.T, name, source string, before *lock.Lock) *Output {
	t.Helper()
	dir := filepath.Join(j.dir, name)
	file := filepath.Join(dir, "p.go")
	write(t, file, []byte(source))
	fset := token.NewFileSet()
	syntax, err := parser.ParseFile(fset, file, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatalf("%v\n%s", err, source)
	}
	own := "example.test/" + name
	pkg, err := j.check(fset, own, syntax)
	if err != nil {
		t.Fatalf("%v\n%s", err, source)
	}
	found, wrong := load.Resolve([]*packages.Package{pkg}, fset, dir, own+"/gen")
	for _, x := range found {
		x.Suffix = "task"
	}
	out, err := build(found, wrong, before, emit.Target{Path: own + "/gen", Name: "gen", Module: "example.test"})
	if err != nil {
		t.Fatal(err)
	}
	j.imports[own] = pkg.Types
	return out
}

// compile checks the Go code of an output.
func (j *compiler) compile(t *testing.T, name string, out *Output) {
	t.Helper()
	fset := token.NewFileSet()
	var files []*ast.File
	for _, f := range out.Files {
		if filepath.Dir(f.Name) != "ptask" || !strings.HasSuffix(f.Name, ".go") || strings.HasSuffix(f.Name, "_test.go") {
			continue
		}
		syntax, err := parser.ParseFile(fset, f.Name, f.Data, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, syntax)
	}
	if _, err := j.check(fset, "example.test/"+name+"/gen/ptask", files...); err != nil {
		t.Errorf("the generated code does not compile: %v", err)
	}
}

// source writes a declaration as Go. It is FIELDS where NAME{FIELDS} NAME{...}, or
// = TYPE for a root that is no struct, or nothing for no result; a field is
// GO:JSON TYPE RULES, with semicolons between, or the name of an embedded struct. In where, NAME TYPE{a,b} is an enum
// and NAME = TYPE any other type.
func source(part, declaration string) string {
	declaration, where, _ := strings.Cut(declaration, " where ")
	var b strings.Builder
	b.WriteString("package p\n\nimport (\n\t\"context\"\n\t\"encoding/json\"\n\t\"math/big\"\n\t\"net/netip\"\n\t\"time\"\n\n\t\"github.com/google/uuid\"\n\n\t\"taskkit.dev/taskkit\"\n)\n\n")
	b.WriteString("var (\n\t_ json.RawMessage\n\t_ time.Time\n\t_ uuid.UUID\n\t_ big.Int\n\t_ netip.Addr\n)\n\n")
	b.WriteString(prelude)
	roots := map[string]string{"spec": "struct{}", "state": "struct{}", "result": ""}
	roots[part] = declared(strings.TrimSpace(declaration))
	for _, root := range []string{"spec", "state", "result"} {
		if roots[root] != "" {
			b.WriteString("type " + model.Upper(root) + " " + roots[root] + "\n\n")
		}
	}
	for where = strings.TrimSpace(where); where != ""; where = strings.TrimSpace(where) {
		name, rest, _ := strings.Cut(where, "{")
		body, after, _ := strings.Cut(rest, "}")
		where = after
		name, base, enum := strings.Cut(strings.TrimSpace(name), " ")
		switch {
		case strings.HasPrefix(base, "= "):
			fmt.Fprintf(&b, "type %s %s\n\n", name, base[2:])
		case enum:
			fmt.Fprintf(&b, "type %s %s\n\nconst (\n", name, base)
			for i, v := range strings.Split(body, ",") {
				if base == "string" {
					v = fmt.Sprintf("%q", v)
				}
				fmt.Fprintf(&b, "\t%s%d %s = %s\n", name, i, name, v)
			}
			b.WriteString(")\n\n")
		default:
			fmt.Fprintf(&b, "type %s %s\n\n", name, declared(body))
		}
	}
	b.WriteString("//taskkit:executor p\ntype Executor struct{}\n\n")
	b.WriteString("func (Executor) Execute(context.Context, *taskkit.Batch[Spec, State]) (taskkit.Next, error) { return taskkit.Done, nil }\n")
	if roots["result"] != "" {
		b.WriteString("\nfunc (Executor) Report(context.Context, *taskkit.Batch[Spec, State]) (r Result, err error) { return r, nil }\n")
	}
	return b.String()
}

// prelude has what a line cannot declare: generic types, and methods.
const prelude = `type Box[T any] struct {
	V T ` + "`json:\"v\"`" + `
}

type Pair[K comparable, V any] struct {
	By map[K]V ` + "`json:\"by\"`" + `
}

// Written writes itself as JSON, and Keyed too, except for the key of a map.
type Written struct{ a int }

func (Written) MarshalJSON() ([]byte, error)  { return []byte("1"), nil }
func (*Written) UnmarshalJSON([]byte) error   { return nil }

type Keyed string

func (Keyed) MarshalJSON() ([]byte, error) { return []byte("1"), nil }
func (*Keyed) UnmarshalJSON([]byte) error  { return nil }

// Worded writes itself as text, and Pointed with a method of the pointer.
type Worded [2]int

func (Worded) MarshalText() ([]byte, error) { return nil, nil }
func (*Worded) UnmarshalText([]byte) error  { return nil }

type Pointed int

func (*Pointed) MarshalText() ([]byte, error) { return nil, nil }
func (*Pointed) UnmarshalText([]byte) error   { return nil }

`

// declared writes the fields of a struct, or another type.
func declared(fields string) string {
	switch {
	case fields == "nothing":
		return ""
	case strings.HasPrefix(fields, "= "):
		return fields[2:]
	}
	var b strings.Builder
	b.WriteString("struct {\n")
	for field := range strings.SplitSeq(fields, ";") {
		words := strings.SplitN(strings.TrimSpace(field), " ", 3)
		if len(words) == 1 {
			b.WriteString("\t" + words[0] + "\n") // embedded
			continue
		}
		name, json, named := strings.Cut(words[0], ":")
		if !named {
			json = strings.ToLower(name)
		}
		tag := fmt.Sprintf("json:%q", json)
		if len(words) == 3 {
			tag += fmt.Sprintf(" validate:%q", words[2])
		}
		fmt.Fprintf(&b, "\t%s %s `%s`\n", name, words[1], tag)
	}
	b.WriteString("}")
	return b.String()
}

// entry is a line of a file in testdata/changes: WANT: DECLARATION. Above it, a line
// that begins with ! is the reason of a false alarm.
type entry struct{ want, text, reason string }

func entries(t *testing.T, name string) (all []entry) {
	t.Helper()
	reason := ""
	for line := range strings.SplitSeq(string(read(t, filepath.Join("testdata/changes", name))), "\n") {
		switch text, isReason := strings.CutPrefix(line, "! "); {
		case isReason:
			reason = text
		case line == "" || strings.HasPrefix(line, "#"):
			reason = ""
		default:
			want, text, ok := strings.Cut(line, ": ")
			if !ok {
				t.Fatalf("%s: %q has no want", name, line)
			}
			all = append(all, entry{want, text, reason})
			reason = ""
		}
	}
	return all
}

// atLeast is how many declarations and pairs there are.
const atLeast = 200

// TestPairs compares releases: allowed, or refused by the rule that the line names. A
// refusal that is a false alarm has its reason in docs/evolution.md.
func TestPairs(t *testing.T) {
	t.Parallel()
	j := newCompiler(t)
	doc := strings.Join(strings.Fields(string(read(t, repository+"/docs/evolution.md"))), " ")
	pairs := entries(t, "pairs.txt")
	if len(pairs) < atLeast {
		t.Errorf("%d pairs, want %d", len(pairs), atLeast)
	}
	for i, e := range pairs {
		t.Run(fmt.Sprint(i), func(t *testing.T) { j.pair(t, fmt.Sprintf("p%d", i), e) })
		if !strings.Contains(doc, e.reason) {
			t.Errorf("docs/evolution.md does not give the reason of a false alarm: %s", e.reason)
		}
	}
}

func (j *compiler) pair(t *testing.T, name string, e entry) {
	t.Helper()
	part, want, other := strings.Cut(e.want, " ")
	if !other {
		part, want = "spec", part
	}
	before, after, ok := strings.Cut(e.text, " -> ")
	if !ok {
		t.Fatalf("%q is no pair", e.text)
	}
	first := j.generate(t, name+"/a", source(part, before), &lock.Lock{})
	if len(first.Diagnostics) > 0 {
		t.Fatalf("%s: %v", before, first.Diagnostics)
	}
	locked, stale := lock.Parse(lock.Name, first.Lock)
	if len(stale) > 0 {
		t.Fatal(stale)
	}
	var got []string
	second := j.generate(t, name+"/b", source(part, after), locked)
	for _, d := range second.Diagnostics {
		rule, _, _ := strings.Cut(d.Message, ":")
		got = append(got, rule)
	}
	if got = slices.Compact(got); len(got) == 0 {
		got = []string{"ok"}
	}
	if strings.Join(got, "+") != want {
		t.Errorf("%s\n\t%v, want %s %v", e.text, got, want, second.Diagnostics)
	}
}

// TestDeclarations: each is refused with the words of its line, or generated; and
// the code compiles.
func TestDeclarations(t *testing.T) {
	t.Parallel()
	j := newCompiler(t)
	all := entries(t, "declarations.txt")
	if len(all) < atLeast {
		t.Errorf("%d declarations, want %d", len(all), atLeast)
	}
	for i, e := range all {
		t.Run(fmt.Sprint(i), func(t *testing.T) { j.declaration(t, fmt.Sprintf("d%d", i), e) })
	}
}

func (j *compiler) declaration(t *testing.T, name string, e entry) {
	t.Helper()
	out := j.generate(t, name, source("spec", e.text), &lock.Lock{})
	var told strings.Builder
	for _, d := range out.Diagnostics {
		told.WriteString(d.String() + "\n")
	}
	switch {
	case e.want != "ok":
		if !strings.Contains(told.String(), e.want) {
			t.Errorf("%s\n\twant %q, got %q", e.text, e.want, told.String())
		}
	case told.Len() > 0:
		t.Errorf("%s\n\trefused: %s", e.text, told.String())
	default:
		j.compile(t, name, out)
	}
}
