package load

import (
	"go/ast"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"
)

// docs finds the comments of declarations. It parses the files that declare
// them, since most types come from export data, which has no comments. So what
// it finds does not depend on which packages were named to taskgen.
type docs struct {
	root, module string // of the module that taskgen runs in
	files        map[string]map[declared]*ast.CommentGroup
	roots        map[string]string // of the modules around directories
}

// declared is where a name is declared. Export data has lines and no columns.
type declared struct {
	line int
	name string
}

// text returns the documentation of a declared type, a field or a constant as
// plain text, a paragraph a line. It is "" for what another module declares.
func (r *resolver) text(obj types.Object) string {
	group := r.comment(obj)
	if group == nil {
		return ""
	}
	var lines []string
	for line := range strings.SplitSeq(group.Text(), "\n") { // Text leaves directives out
		if !strings.HasPrefix(line, "nolint") {
			lines = append(lines, line)
		}
	}
	p := comment.Parser{
		LookupPackage: func(name string) (string, bool) { return name, true },
		LookupSym:     func(string, string) bool { return true },
	}
	plain := comment.Printer{TextWidth: -1}
	return strings.TrimSpace(string(plain.Text(p.Parse(strings.Join(lines, "\n")))))
}

// comment returns the doc comment of a declared type, a field or a constant, or
// else the comment at the end of its line. It is nil when there is none, and for
// what another module declares: that is written for other readers.
func (r *resolver) comment(obj types.Object) *ast.CommentGroup {
	if !obj.Pos().IsValid() || obj.Pkg() == nil {
		return nil
	}
	at := r.fset.PositionFor(obj.Pos(), false)
	file, ours := r.docs.own(at.Filename)
	if !ours {
		return nil
	}
	found, read := r.docs.files[file]
	if !read {
		found = commentsOf(file)
		r.docs.files[file] = found
	}
	return found[declared{at.Line, obj.Name()}]
}

// newDocs returns docs for what is run in a directory.
func newDocs(dir string) docs {
	root, module := moduleAround(dir)
	return docs{root: root, module: module, files: map[string]map[declared]*ast.CommentGroup{}, roots: map[string]string{}}
}

// ours reports whether a position is in the module that taskgen runs in.
func (r *resolver) ours(pos token.Pos) bool {
	_, ours := r.docs.own(r.fset.PositionFor(pos, false).Filename)
	return ours
}

// changeable reports whether a position is in the module that taskgen runs in, or in another of
// the workspace.
func (r *resolver) changeable(pos token.Pos) bool {
	file := r.fset.PositionFor(pos, false).Filename
	for _, module := range r.workspace {
		if _, own := module.own(file); own {
			return true
		}
	}
	return r.ours(pos)
}

// own returns the name that a file has on this machine, if it belongs to the
// module that taskgen runs in.
func (d *docs) own(file string) (string, bool) {
	if d.root == "" {
		return "", false
	}
	if rest, ok := strings.CutPrefix(file, d.module+"/"); ok { // built with -trimpath
		file = filepath.Join(d.root, filepath.FromSlash(rest))
	}
	rel, err := filepath.Rel(d.root, file)
	if err != nil || !filepath.IsAbs(file) || !filepath.IsLocal(rel) {
		return "", false
	}
	if strings.Contains("/"+filepath.ToSlash(rel), "/vendor/") {
		return "", false
	}
	dir := filepath.Dir(file)
	root, known := d.roots[dir]
	if !known {
		root, _ = moduleAround(dir) // a module may lie inside another
		d.roots[dir] = root
	}
	return file, root == d.root
}

// moduleAround returns the root of the module around a directory, and its path.
func moduleAround(dir string) (root, module string) {
	for {
		data, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil {
			return dir, path.Clean(modfile.ModulePath(data))
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", ""
		}
		dir = up
	}
}

// commentsOf returns the comments of all types, fields and constants in a file.
// A file that cannot be read has none: that it compiles was seen before.
func commentsOf(name string) map[declared]*ast.CommentGroup {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil
	}
	found := map[declared]*ast.CommentGroup{}
	record := func(id *ast.Ident, groups ...*ast.CommentGroup) {
		at := declared{fset.PositionFor(id.Pos(), false).Line, id.Name}
		for _, g := range groups {
			if g != nil && found[at] == nil {
				found[at] = g
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GenDecl:
			// The comment before the keyword belongs to a declaration that stands alone.
			if !n.Lparen.IsValid() && len(n.Specs) == 1 {
				switch s := n.Specs[0].(type) {
				case *ast.TypeSpec:
					record(s.Name, n.Doc)
				case *ast.ValueSpec:
					for _, id := range s.Names {
						record(id, n.Doc)
					}
				}
			}
		case *ast.TypeSpec:
			record(n.Name, n.Doc, n.Comment)
		case *ast.ValueSpec:
			for _, id := range n.Names {
				record(id, n.Doc, n.Comment)
			}
		case *ast.Field:
			for _, id := range n.Names {
				record(id, n.Doc, n.Comment)
			}
		}
		return true
	})
	return found
}
