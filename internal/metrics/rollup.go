package metrics

import "time"

// rollUp makes the frames of a level that have ended until now and that this node has not recorded yet, as far back as
// its samples are in memory. A frame without samples is left out.
func (r *Recorder) rollUp(l level, now time.Time) {
	ended := l.frameAt(now) - 1
	oldest := l.frameAt(now.Add(-inMemory[samples])) + 1
	for frame := max(r.last[l]+1, oldest); frame <= ended; frame++ {
		r.last[l] = frame
		f := r.rolled(l, frame)
		if len(f.entities) == 0 {
			continue
		}
		if l == minutes && frame == ended {
			f.totals = r.encodedTotals()
		}
		r.add(l, &f)
		r.queue.add(l, f, nil, r.cfg.Dropped)
	}
}

// rolled sums up the samples of this node in a frame.
func (r *Recorder) rolled(l level, number int64) frame {
	begin := l.begin(number)
	from := samples.frameAt(begin)
	all := map[entity][]aggregate{}
	numbers := map[entity]int{}
	r.mu.RLock()
	for e, t := range r.memory[samples][r.cfg.Node] {
		t.visit(from, from+int64(l.samplesIn()), func(run run) {
			columns, n, err := values(run.values, e.family())
			if err != nil {
				return // it was made by this process or has been checked by restore
			}
			times := int(run.to - run.from)
			have := all[e]
			if have == nil {
				have = make([]aggregate, len(columns))
				all[e] = have
			}
			for i, a := range columns {
				have[i] = have[i].then(a.times(times))
			}
			numbers[e] += n * times
		})
	}
	r.mu.RUnlock()
	f := frame{node: r.cfg.Node, at: begin}
	for e, columns := range all {
		one := encode(map[entity][]aggregate{e: columns}, numbers[e])
		f.entities = append(f.entities, one...)
	}
	sortEncoded(f.entities)
	return f
}
