package taskkind

// IsAtLeastVersion0_1_0 exists so that code generated for this version fails to
// compile against an older one. See the head of a generated file.
const IsAtLeastVersion0_1_0 = true

// RunGoGenerate_typeHasChanged takes a value of type T. Generated code calls it with a
// copy of each type that it encodes, so that the compiler reports a changed type with
// the name of this function.
func RunGoGenerate_typeHasChanged[T any](T) {}
