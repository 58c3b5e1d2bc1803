// Command generate runs ent's code generation for the demonstration domain.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"runtime"

	"entgo.io/ent/entc"
	"entgo.io/ent/entc/gen"
)

// target is where the code goes.
const target = "./ent"

func main() {
	runtime.GOMAXPROCS(1) // ent formats files in parallel, and goimports then misses imports of files that are being written
	if err := generate(); err != nil {
		log.Fatal("generate the caseload's ent: ", err)
	}
}

// generate generates until no file imports taskkit's own package ent. The template of client.go leaves the import of
// entgo.io/ent to goimports, which reads the other files of the package for it. They are formatted in a random order; when none of
// them has its imports yet, goimports guesses.
func generate() error {
	for range 10 {
		err := entc.Generate("./schema", &gen.Config{
			Target:  target,
			Package: "taskkit.dev/internal/demo/caseload/ent",
			Features: []gen.Feature{
				gen.FeatureExecQuery, // raw statements beside ent's own
				gen.FeatureUpsert,    // parts and watches replace themselves
			},
		})
		if err != nil {
			return err
		}
		if wrong, err := importsTaskkit(); err != nil || !wrong {
			return err
		}
	}
	return errors.New("goimports takes taskkit.dev/ent for entgo.io/ent in each of 10 tries: run go generate again")
}

// importsTaskkit reports whether a generated file imports taskkit's package ent.
func importsTaskkit() (bool, error) {
	files, err := filepath.Glob(filepath.Join(target, "*.go"))
	if err != nil {
		return false, err
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return false, fmt.Errorf("read what was generated: %w", err)
		}
		if bytes.Contains(text, []byte(`"taskkit.dev/ent"`)) {
			return true, nil
		}
	}
	return false, nil
}
