package audit

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// A line is the JSON form of a record, with the fields that are the same in all of them.
type line struct {
	Version string `json:"eventVersion"`
	*Record
	Category   string `json:"eventCategory"`
	Management bool   `json:"managementEvent"`
}

// A message is what the journal stores as one record of its own: lines of JSON.
type message struct {
	id     string
	data   []byte
	weight int // for how many calls it stands
}

const (
	// batchRecords and batchBytes are how much one message contains. The last record may exceed the bytes, and the
	// journal accepts 4 MiB.
	batchRecords = 256
	batchBytes   = 1 << 20
)

// encode makes messages of records, which it completes.
func encode(records []Record) (messages []message, err error) {
	var data bytes.Buffer
	out := json.NewEncoder(&data)
	out.SetEscapeHTML(false)
	weight := 0
	for i := range records {
		r := &records[i]
		r.complete()
		if err := out.Encode(line{"1.11", r, "Management", true}); err != nil {
			return nil, err
		}
		if r.Name != gapName { // what was dropped has been counted
			weight += r.weight()
		}
		if data.Len() >= batchBytes || i == len(records)-1 {
			messages = append(messages, message{uuid.NewString(), bytes.Clone(data.Bytes()), weight})
			data.Reset()
			weight = 0
		}
	}
	return messages, nil
}

// complete gives the record the form in which it is stored.
func (r *Record) complete() {
	r.clipLists()
	r.Time = r.Time.UTC().Truncate(time.Millisecond)
	if r.ID == "" {
		r.ID = uuid.NewString()
	}
}
