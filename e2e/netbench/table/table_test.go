package table

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/e2e/netbench/result"
)

func example() Table {
	s := result.Series{}
	s.Add("gamenet", 0, result.Sample{Messages: 3_000_000, Seconds: 2, CPU: 1, Heap: 1024, Resident: 2048})
	s.Add("net", 0, result.Sample{Messages: 1_000_000, Seconds: 2, CPU: 2, Mallocs: 250_000, Heap: 4096,
		Resident: 8192})
	return Table{{
		Work: "echo", Subject: "gamenet", Peers: []string{"net", "netpoll"}, Series: s,
		Goals: []result.Goal{{Figure: result.Rate, Least: 1},
			{Figure: result.Allocations, What: "allocations", Unit: hundredths}},
	}}
}

func TestSpeed(t *testing.T) {
	want := `
| work | goals of gamenet | server | messages/s | ratio | per CPU second | ratio by CPU | CPU s per million | allocations per message |
|---|---|---|---|---|---|---|---|---|
| echo | ≥ 1.0 × the best peer, net: 3.00 ✓; ≤ 0.00 allocations ✓ | gamenet | 1,500,000 |  | 3,000,000 |  | 0.33 | 0.00 |
|  |  | net | 500,000 | 3.00 × | 500,000 | 6.00 × | 2.00 | 0.25 |
|  |  | netpoll | - |  | - |  | - | - |
`
	if got := example().Speed(); got != want {
		t.Errorf("got%s\nwant%s", got, want)
	}
}

func TestMemory(t *testing.T) {
	got := example().Memory()
	for _, line := range []string{"| gamenet | 2.0 KiB | 1.0 KiB |  |", "| net | 8.0 KiB | 4.0 KiB | 4.00 × |"} {
		if !strings.Contains(got, line) {
			t.Errorf("%q is missing in%s", line, got)
		}
	}
	if (Table{}).Memory() != "" {
		t.Error("a table of nothing")
	}
}

func TestThousands(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0", 49: "0", 51: "100", 999: "1,000", 12_345: "12,300", 1_234_567.8: "1,234,600",
	} {
		if got := thousands(x); got != want {
			t.Errorf("%v is shown as %q, want %q", x, got, want)
		}
	}
}

func TestWrite(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(page, []byte("before\n"+begin+"old\n"+end+"after\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"new\n", "newer\n"} {
		if err := Write(page, text); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(page)
		if want := "before\n" + begin + text + end + "after\n"; err != nil || string(got) != want {
			t.Errorf("got %q, %v; want %q", got, err, want)
		}
	}
	if err := os.WriteFile(page, []byte(end+begin), 0o600); err != nil {
		t.Fatal(err)
	}
	if Write(page, "new") == nil {
		t.Error("a page without marks was written to")
	}
}

func TestAbout(t *testing.T) {
	got := About(context.Background(), 5, time.Second)
	if !strings.HasSuffix(got, "Medians of 5 rounds of 1s each.\n") || strings.Count(got, "\n") != 1 {
		t.Errorf("got %q", got)
	}
}
