package objects

import (
	"cmp"
	"crypto/md5"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/muster-gg/muster/internal/atomicfile"
)

const (
	// MaxParts is the highest number of a part; the lowest is 1. Source: Amazon S3 user guide, "Amazon S3 multipart
	// upload limits", as MinPartSize.
	MaxParts = 10_000

	// MinPartSize is the minimum size of all parts but the last, in bytes.
	MinPartSize = 5 << 20
)

// An Upload is an unfinished multipart upload, as it was initiated.
type Upload struct {
	ID          string            `json:"id"`
	Bucket      string            `json:"bucket"`
	Key         string            `json:"key"`
	ContentType string            `json:"contentType"`
	Metadata    map[string]string `json:"metadata,omitempty"`
	Algorithm   Algorithm         `json:"algorithm,omitempty"` // of checksums; "": none
	FullObject  bool              `json:"fullObject"`          // the checksum is of the bytes, not of checksums
	Initiated   time.Time         `json:"initiated"`

	Node string `json:"-"` // the node that keeps it; "": this one
}

// Uploads keeps unfinished multipart uploads. *Store implements it, and describes the methods.
type Uploads interface {
	Initiate(u Upload) (Upload, error)
	Upload(id string) (Upload, error)
	PutPart(u Upload, number int, checksum string, w *Writer) (Part, error)
	Parts(u Upload, after, limit int) ([]Part, error)
	Complete(u Upload, want []Part) (Object, error)
	Abort(u Upload) error
}

// A Part is a part of an upload.
type Part struct {
	Number   int       `json:"number"`
	Size     int64     `json:"size"`               // in bytes
	ETag     string    `json:"etag"`               // without quotes
	Checksum string    `json:"checksum,omitempty"` // by the upload's algorithm
	Modified time.Time `json:"modified"`
}

const uploadFile = "upload.json"

// Initiate begins an upload, durably. It sets ID and Initiated.
func (s *Store) Initiate(u Upload) (Upload, error) {
	id := uuid.New()
	u.ID, u.Initiated = hex.EncodeToString(id[:]), s.Clock.Now().UTC()
	record, err := json.Marshal(u)
	if err != nil {
		return u, fmt.Errorf("initiate upload: %w", err)
	}
	// The directory appears with its record in it.
	temp, err := os.MkdirTemp(s.temp(), "*")
	if err == nil {
		err = atomicfile.Write(filepath.Join(temp, uploadFile), record, 0o600)
	}
	if err == nil {
		err = atomicfile.SyncDir(temp)
	}
	if err == nil {
		err = os.Rename(temp, filepath.Join(s.uploads(), u.ID))
	}
	if err = errors.Join(err, atomicfile.SyncDir(s.uploads())); err != nil {
		return u, fmt.Errorf("initiate upload: %w", err)
	}
	return u, nil
}

// dir returns the directory of an upload; an error for an id that Initiate cannot have made.
func (s *Store) dir(id string) (string, error) {
	if raw, err := hex.DecodeString(id); err != nil || len(raw) != len(uuid.UUID{}) || hex.EncodeToString(raw) != id {
		return "", ErrNoUpload()
	}
	return filepath.Join(s.uploads(), id), nil
}

// ErrNoUpload returns the error about an upload that does not exist.
func ErrNoUpload() *Error {
	return Errorf(NoSuchUpload,
		"The multipart upload does not exist: it was completed, aborted, or is older than %v.", UploadRetention)
}

// upload converts an error of reading or writing an upload.
func upload(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return ErrNoUpload()
	}
	if err != nil {
		return fmt.Errorf("upload: %w", err)
	}
	return nil
}

// Upload returns an unfinished upload. The error is an *Error with the code NoSuchUpload if there is none.
func (s *Store) Upload(id string) (u Upload, err error) {
	dir, err := s.dir(id)
	if err != nil {
		return u, err
	}
	record, err := os.ReadFile(filepath.Join(dir, uploadFile))
	if err == nil {
		err = json.Unmarshal(record, &u)
	}
	return u, upload(err)
}

// PutPart makes the bytes of w durable as a part of an upload, and replaces an earlier part of that number. It ends w.
// The error is an *Error with the code NoSuchUpload if the upload has ended.
func (s *Store) PutPart(u Upload, number int, checksum string, w *Writer) (Part, error) {
	defer w.Abort()
	p := Part{Number: number, Size: w.Size(), ETag: w.MD5(), Checksum: checksum, Modified: s.Clock.Now().UTC()}
	dir, err := s.dir(u.ID)
	if err != nil {
		return p, err
	}
	if err := writeRecord(w.file, p); err != nil {
		return p, fmt.Errorf("part: %w", err)
	}
	path, err := w.close()
	if err == nil {
		err = os.Rename(path, partPath(dir, number))
	}
	if err != nil {
		return p, upload(errors.Join(err, absentIsFine(os.Remove(path))))
	}
	return p, upload(atomicfile.SyncDir(dir))
}

// The file of a part holds its bytes, its record in JSON, and the length of the record in 4 bytes, big-endian. So a
// part is replaced with its record at once.
func partPath(dir string, number int) string { return filepath.Join(dir, fmt.Sprintf("%05d", number)) }

const maxRecord = 1 << 10

func writeRecord(w io.Writer, p Part) error {
	record, err := json.Marshal(p)
	if err != nil {
		return err
	}
	_, err = w.Write(binary.BigEndian.AppendUint32(record, uint32(len(record))))
	return err
}

func readRecord(f *os.File) (p Part, err error) {
	info, err := f.Stat()
	if err != nil {
		return p, err
	}
	var length [4]byte
	end := info.Size() - int64(len(length))
	if _, err := f.ReadAt(length[:], max(end, 0)); err != nil {
		return p, fmt.Errorf("record of part: %w", err)
	}
	n := int64(binary.BigEndian.Uint32(length[:]))
	if n > maxRecord || n > end {
		return p, fmt.Errorf("record of part: its length is %d", n)
	}
	record := make([]byte, n)
	if _, err := f.ReadAt(record, end-n); err != nil {
		return p, fmt.Errorf("record of part: %w", err)
	}
	if err := json.Unmarshal(record, &p); err != nil {
		return p, fmt.Errorf("record of part: %w", err)
	}
	if p.Size != end-n {
		return p, fmt.Errorf("record of part: its size is %d, not %d", end-n, p.Size)
	}
	return p, nil
}

// openPart opens a part of an upload, at its first byte. The error is fs.ErrNotExist if there is none.
func openPart(dir string, number int) (*os.File, Part, error) {
	f, err := os.Open(partPath(dir, number))
	if err != nil {
		return nil, Part{}, err
	}
	p, err := readRecord(f)
	if err != nil {
		return nil, p, errors.Join(err, f.Close())
	}
	return f, p, nil
}

// Parts returns at most limit parts of an upload with numbers above after, by number.
func (s *Store) Parts(u Upload, after, limit int) (parts []Part, err error) {
	dir, err := s.dir(u.ID)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, upload(err)
	}
	for _, e := range entries {
		number, err := strconv.Atoi(e.Name())
		if err != nil || number <= after || len(parts) == limit {
			continue
		}
		f, p, err := openPart(dir, number)
		if err != nil {
			return nil, upload(err)
		}
		parts = append(parts, p)
		if err := f.Close(); err != nil {
			return nil, upload(err)
		}
	}
	return parts, nil
}

// Complete writes the given parts of an upload, in this order, as a blob, and returns what is known of the object then.
// Number, ETag and, if it is given, Checksum of each part must be those of the part that was uploaded: else the error
// is an *Error with the code InvalidPart, InvalidPartOrder or EntityTooSmall. The upload still exists; the caller ends
// it with Abort once the object is in the catalog.
func (s *Store) Complete(u Upload, want []Part) (o Object, err error) {
	dir, err := s.dir(u.ID)
	if err != nil {
		return o, err
	}
	parts, err := checkParts(dir, want)
	if err != nil {
		return o, err
	}
	w, err := s.Create(0)
	if err != nil {
		return o, err
	}
	defer w.Abort()
	var full hash.Hash
	to := io.Writer(w)
	if u.Algorithm != "" && u.FullObject {
		full = u.Algorithm.New()
		to = io.MultiWriter(w, full)
	}
	buf := make([]byte, copyBuffer)
	for _, p := range parts {
		if err := join(to, dir, p, buf); err != nil {
			return o, err
		}
	}
	if err := w.Commit(); err != nil {
		return o, err
	}
	o = Object{Bucket: u.Bucket, Key: u.Key, Hash: w.SHA256(), Size: w.Size(), ETag: ETagOf(parts),
		ContentType: u.ContentType, Modified: s.Clock.Now().UTC(), Metadata: u.Metadata}
	switch {
	case full != nil:
		o.Checksums = map[string]string{string(u.Algorithm): Checksum(full)}
	case u.Algorithm != "":
		o.Checksums = map[string]string{string(u.Algorithm): u.Algorithm.composite(parts)}
	}
	return o, nil
}

// copyBuffer is the size of the buffer through which parts are joined, in bytes.
const copyBuffer = 256 << 10

// checkParts returns the parts as they were uploaded.
func checkParts(dir string, want []Part) (parts []Part, err error) {
	if !slices.IsSortedFunc(want, func(a, b Part) int { return cmp.Or(cmp.Compare(a.Number, b.Number), -1) }) {
		return nil, Errorf(InvalidPartOrder, "The list of parts is not in ascending order of part numbers.")
	}
	for i, p := range want {
		f, got, err := openPart(dir, p.Number)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, invalidPart(p.Number)
		}
		if err != nil {
			return nil, upload(err)
		}
		if err := f.Close(); err != nil {
			return nil, upload(err)
		}
		if got.ETag != p.ETag || p.Checksum != "" && p.Checksum != got.Checksum {
			return nil, invalidPart(p.Number)
		}
		if i < len(want)-1 && got.Size < MinPartSize {
			return nil, Errorf(EntityTooSmall,
				"Part %d has %d bytes. All parts except the last need at least %d.", p.Number, got.Size, MinPartSize)
		}
		parts = append(parts, got)
	}
	return parts, nil
}

func invalidPart(number int) *Error {
	return Errorf(InvalidPart,
		"Part %d was not uploaded, or has another ETag or checksum. Upload it, and list it with both as returned.",
		number)
}

// join appends a part, unless it was replaced meanwhile.
func join(to io.Writer, dir string, p Part, buf []byte) error {
	f, got, err := openPart(dir, p.Number)
	if err != nil {
		return upload(err)
	}
	defer func() { _ = f.Close() }() // it was read
	if got != p {
		return invalidPart(p.Number)
	}
	n, err := io.CopyBuffer(to, io.LimitReader(f, p.Size), buf)
	if err == nil && n != p.Size {
		err = fmt.Errorf("part %d: %w", p.Number, io.ErrUnexpectedEOF)
	}
	return err
}

// ETagOf returns the ETag of an object that consists of parts: the MD5 of their MD5 sums, and their number. An ETag of
// a part that is no MD5 in hex counts as empty.
func ETagOf(parts []Part) string {
	h := md5.New()
	for _, p := range parts {
		sum, _ := hex.DecodeString(p.ETag)
		h.Write(sum)
	}
	return fmt.Sprintf("%x-%d", h.Sum(nil), len(parts))
}

// Abort deletes an upload with its parts. The error is an *Error with the code NoSuchUpload if there is none.
func (s *Store) Abort(u Upload) error {
	dir, err := s.dir(u.ID)
	if err != nil {
		return err
	}
	// It disappears at once: a part that arrives during the deletion must not remain.
	temp := filepath.Join(s.temp(), u.ID)
	if err := os.Rename(dir, temp); err != nil {
		return upload(err)
	}
	if err := errors.Join(atomicfile.SyncDir(s.uploads()), os.RemoveAll(temp)); err != nil {
		return fmt.Errorf("abort upload: %w", err)
	}
	return nil
}

// tidy deletes old uploads, chunks and indexes.
func (s *Store) tidy() {
	entries, err := os.ReadDir(s.uploads())
	before := s.Clock.Now().Add(-UploadRetention)
	for _, e := range entries {
		u, failed := s.Upload(e.Name())
		if failed == nil && u.Initiated.Before(before) {
			failed = s.Abort(u)
		}
		if failed != nil && CodeOf(failed) != NoSuchUpload {
			err = errors.Join(err, fmt.Errorf("%s: %w", e.Name(), failed))
		}
	}
	if err = errors.Join(err, s.tidyChunks(), s.tidyIndexes()); err != nil {
		s.Log.Warn("unfinished uploads not deleted", "error", err)
	}
}
