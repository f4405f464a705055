package report

import (
	"fmt"

	"github.com/a1009580/leasehold/chaos/drill/result"
)

// Heights of the figure of the blast radius, in pixels.
const blastRow = 36

// blastRadius is the figure of what each region admitted under the fault, against its own
// baseline.
type blastRadius struct {
	Alt    string
	Height int
	Whole  pc // the place of the baseline
	Rows   []blastLine
}

type blastLine struct {
	Region, Label string
	NameAt, At    int
	Width         pc
	LabelAt       pc
	Anchor        string
}

// newBlastRadius draws the phases of the fault. It is empty if nothing was admitted before.
func newBlastRadius(r *result.Result) blastRadius {
	faulty := map[string]bool{}
	for _, p := range r.Phases {
		if p.Kind == result.Faulty {
			faulty[p.Name] = true
		}
	}
	most := 1.0
	var rows []result.Impact
	for _, i := range r.Blast {
		if faulty[i.Phase] && i.OfBaseline != nil {
			rows = append(rows, i)
			most = max(most, *i.OfBaseline)
		}
	}
	most = min(most*1.15, 4) // what grew more is cut; its label says by how much
	out := blastRadius{
		Alt:    fmt.Sprintf("What %s admitted under the fault, as a share of the baseline.", plural(int64(len(rows)), "region")),
		Height: blastRow * len(rows), Whole: place(1, 0, most),
	}
	for n, i := range rows {
		name := i.Region
		if len(faulty) > 1 {
			name += ", " + i.Phase
		}
		out.Rows = append(out.Rows, blastLine{
			Region: name, Label: share(*i.OfBaseline), NameAt: n*blastRow + 12, At: n*blastRow + 17, Width: place(*i.OfBaseline, 0, most),
		})
	}
	return out
}
