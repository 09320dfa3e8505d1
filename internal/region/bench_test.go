package region

import "testing"

// BenchmarkManyRooms is what a shard asks for in every turn of its loop, with
// 2,000 rooms, one of which has just changed.
func BenchmarkManyRooms(b *testing.B) {
	const rooms = 2000
	m := New(1, settings())
	for i := range rooms {
		do(b, m, start, register(roomID(i)))
		do(b, m, start, connect(roomID(i), "a"))
	}
	b.Run("command and deadline", func(b *testing.B) {
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			do(b, m, start, connect(roomID(i%rooms), "a"))
			if m.Deadline().IsZero() {
				b.Fatal("no deadline")
			}
			i++
		}
	})
	b.Run("command and freeze", func(b *testing.B) {
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			do(b, m, start, connect(roomID(i%rooms), "a"))
			m.Freeze()
			i++
		}
	})
}
