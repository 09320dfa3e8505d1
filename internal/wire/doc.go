// Package wire holds the shapes of the GameLift API and reads and writes them in both of its protocols, AWS JSON 1.1
// and Smithy RPC v2 CBOR.
//
// The types, their constraints and the list of operations are generated from the API model in model/gamelift.json.
// After a change of the model or of the generator (package main in gen) run, in this directory,
//
//	go generate .
//
// which writes the zz_*.go files anew. A test in gen fails while they differ from what the generator makes.
//
// # Shapes
//
// Each structure of the model is a struct of the same name with fields named as the members; the exceptions are not
// here but in package fault. A field says by itself whether its member is present:
//
//	string                 string; "" is absent. Opt where an update may set it to ""
//	enumeration            a string type with constants, such as FleetStatusActive; "" is absent
//	number, boolean        Opt; the zero Opt is absent
//	timestamp              time.Time in UTC, kept to the millisecond; the zero time is absent
//	structure              pointer; nil is absent
//	list, map, blob        slice of values, map by string, []byte; nil is absent, empty is not
//
// What is absent is not written, with one exception: a string that is required and may be empty, such as Tag.Value, is
// always written.
//
// # Tables
//
// Nothing is generated to read, write or check a structure. When the program starts, a table of each is made of its
// type: for each field the name, the offset, the kind of its value, how it says that it is present, and the constraints
// of the shape that its tag names. One codec goes by these tables: structure.read for both protocols, with a bodyReader
// for each, structure.appendJSON and structure.appendCBOR, and structure.check. A tag or a type that the tables cannot
// describe is a panic at the start.
//
// # Operations
//
// There is a variable for each operation, such as OpCreateFleet. Operation.Handle binds it to the function that answers
// it; the resulting Handler reads, checks, calls and writes. It knows nothing of HTTP, signatures or request ids.
//
// # What the readers accept
//
// A body is read twice: once to see that it is well-formed, in UTF-8, no deeper than 32 levels and without an object or
// array of more than 16384 elements, then to read it. So the second reading need not expect broken input, and unknown
// members, which newer clients may send, are skipped without a closer look.
//
// An empty body is an empty structure, null (and undefined) is absent, and of members that come twice the last one
// counts, though an earlier one that is empty or incomplete is still reported. JSON timestamps are epoch seconds with
// or without a fraction; NaN and the infinities are strings; 5.0 is an integer, too. CBOR may have indefinite lengths,
// integers and floats of any width, and floats without a fraction where an integer belongs; timestamps need tag 1. The
// Smithy specification asks servers for that leniency. Everything else is a SerializationException that names the
// member and what it should have been.
//
// # What is checked
//
// Values are held to the model's constraints: required members, lengths in characters (blobs: bytes), ranges,
// enumerations, and patterns, each a match of the whole value. All violations of a request come in one
// InvalidRequestException in the wording of other AWS services; values that the model calls sensitive are not shown.
// Readers check what the struct cannot tell afterwards, presence and empty strings; the rest is checked on the struct.
// An optional list that is empty passes even if the model wants an element: some clients send it for an absent one.
// Outputs are not checked.
package wire

//go:generate go run ./gen
