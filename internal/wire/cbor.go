package wire

import (
	"errors"
	"strings"

	"github.com/fxamacker/cbor/v2"

	"github.com/muster-gg/muster/internal/wire/fault"
)

// The major types of CBOR data items, as the first byte has them. Source: RFC 8949, section 3.1.
const (
	cborUint  = 0 << 5
	cborNint  = 1 << 5
	cborBytes = 2 << 5
	cborText  = 3 << 5
	cborArray = 4 << 5
	cborMap   = 5 << 5
	cborTag   = 6 << 5
	cborOther = 7 << 5 // simple values and floats

	majorBits = 7 << 5
	minorBits = 1<<5 - 1
)

// Whole first bytes. Source: RFC 8949, appendix B.
const (
	cborFalse      = 0xf4
	cborTrue       = 0xf5
	cborNull       = 0xf6
	cborUndefined  = 0xf7
	cborFloat16    = 0xf9
	cborFloat32    = 0xfa
	cborFloat64    = 0xfb
	cborBreak      = 0xff
	cborEpoch      = cborTag | 1 // tag 1: epoch-based date and time
	cborIndefinite = 31          // in the minor bits of strings, arrays and maps
)

// cborChecker finds out whether a body is well-formed and within limits.
var cborChecker = func() cbor.DecMode {
	mode, err := cbor.DecOptions{
		MaxNestedLevels:  maxNesting,
		MaxArrayElements: maxElements,
		MaxMapPairs:      maxElements,
		IndefLength:      cbor.IndefLengthAllowed,
		TagsMd:           cbor.TagsAllowed,
	}.DecMode()
	if err != nil {
		panic(err) // the options above are constants
	}
	return mode
}()

// checkCBOR reports why body is not one well-formed data item within limits and with nothing behind it. The reader
// trusts that.
func checkCBOR(body []byte) *fault.Error {
	err := cborChecker.Wellformed(body)
	if err == nil {
		return nil
	}
	if _, deep := errors.AsType[*cbor.MaxNestedLevelError](err); deep {
		return fault.New(fault.Serialization, "The request body nests deeper than %d levels.", maxNesting)
	}
	return fault.New(fault.Serialization, "The request body is not valid CBOR: %s.",
		strings.TrimPrefix(err.Error(), "cbor: "))
}
