// Command generate runs ent's code generation for the demonstration domain.
package main

import (
	"log"

	"entgo.io/ent/entc"
	"entgo.io/ent/entc/gen"
)

func main() {
	err := entc.Generate("./schema", &gen.Config{
		Target:  "./ent",
		Package: "taskkit.dev/internal/demo/caseload/ent",
		Features: []gen.Feature{
			gen.FeatureExecQuery, // raw statements beside ent's own
			gen.FeatureUpsert,    // parts and watches replace themselves
		},
	})
	if err != nil {
		log.Fatal("generate the caseload's ent: ", err)
	}
}
