package migrate

import (
	"bytes"
	"io/fs"

	"taskkit.dev/internal/dialect"
)

// directory returns a dialect's files, with the schema's name filled in. For empty tables the files that make
// indexes CONCURRENTLY are [plain].
func directory(all fs.FS, d dialect.Name, schema string, empty bool) (fs.FS, error) {
	dir, err := fs.Sub(all, folder(d))
	if err != nil {
		return nil, err
	}
	return qualified{dir, schema, empty && d == dialect.Postgres}, nil
}

// qualified is a file system that replaces {schema} in its files by the name of
// the schema.
type qualified struct {
	fs.FS
	schema string
	plain  bool
}

// Open implements [fs.FS].
func (q qualified) Open(name string) (fs.File, error) {
	f, err := q.FS.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil || info.IsDir() {
		return f, err
	}
	defer f.Close()
	text, err := fs.ReadFile(q.FS, name)
	if err != nil {
		return nil, err
	}
	if q.plain {
		text = plain(text)
	}
	text = bytes.ReplaceAll(text, []byte("{schema}"), []byte(q.schema))
	return &file{bytes.NewReader(text), sized{info, int64(len(text))}}, nil
}

// file is an open file whose text is in memory.
type file struct {
	*bytes.Reader
	info fs.FileInfo
}

func (f *file) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *file) Close() error               { return nil }

// sized is a FileInfo with another size.
type sized struct {
	fs.FileInfo
	size int64
}

func (s sized) Size() int64 { return s.size }
