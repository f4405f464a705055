package result

import "fmt"

// BucketNames names what each of the overshoots is of, in their order. A bucket
// that was judged by several limits, because its policy was changed, is named with
// the limit; no two names are alike.
func (r *Result) BucketNames() []string {
	plain := make([]string, len(r.Overshoots))
	times := map[string]int{}
	for i, o := range r.Overshoots {
		plain[i] = o.Quota
		if o.Key != "" {
			plain[i] += " of " + o.Key
		}
		times[plain[i]]++
	}
	names := make([]string, len(plain))
	taken := map[string]bool{}
	for i, name := range plain {
		if times[name] > 1 {
			name += " under " + r.Overshoots[i].Limit
		}
		unique := name
		for n := 2; taken[unique]; n++ {
			unique = fmt.Sprintf("%s (%d)", name, n)
		}
		taken[unique] = true
		names[i] = unique
	}
	return names
}
