package policy

import (
	"fmt"
	"time"
)

// Version is the apiVersion of every policy document.
const Version = "leasehold/v1"

const (
	minTTL, maxTTL, defaultTTL = time.Second, time.Minute, 5 * time.Second

	maxKeys, defaultKeys = 10_000_000, 100_000
	maxRegions           = 64
	maxWeight            = 1_000_000
	maxNodes             = 1_000
)

// Parse reads a policy: YAML documents separated by ---, each with apiVersion, domain and quotas. name stands
// for the file in errors. The error, if any, is of type Errors and lists every problem; only a problem of the
// YAML itself ends the search. Data of more than MaxBytes are refused.
func Parse(name string, data []byte) (*Set, error) {
	if name == "" {
		name = "policy"
	}
	return ParseFiles([]File{{Name: name, Data: data}})
}

// File is one of the files of a policy. Name stands for it in errors.
type File struct {
	Name string
	Data []byte
}

// ParseFiles reads a policy that is spread over files, each as Parse reads it. No domain may be in two of them.
func ParseFiles(files []File) (*Set, error) {
	var all Errors
	var domains []*Domain
	owner := make(map[string]string)
	zones := make(map[string]*time.Location)
	for _, f := range files {
		docs, syntax := parseYAML(f.Name, f.Data)
		if syntax != nil {
			all = append(all, syntax)
			continue
		}
		d := &decoder{file: f.Name, zones: zones}
		first := make(map[string]*node)
		for _, doc := range docs {
			domains = append(domains, d.domain(doc, first))
		}
		for name, n := range first {
			if file := owner[name]; file != "" {
				d.errorf(n, "domain", "%s is already defined in %s", quote(name), file)
			}
			owner[name] = f.Name
		}
		if len(docs) == 0 {
			d.errorf(&node{line: 1, column: 1}, "", "holds no policy: expected apiVersion, domain and quotas")
		}
		d.errs.sort()
		all = append(all, d.errs.once()...)
	}
	if len(all) > 0 {
		return nil, all
	}
	set := newSet(domains)
	if len(set.canonical) > MaxBytes {
		return nil, Errors{{files[0].Name, 1, 1, fmt.Sprintf("policy has %d bytes in canonical form; the most is %d", len(set.canonical), MaxBytes)}}
	}
	return set, nil
}

// domain reads a document. first holds the domains already seen.
func (d *decoder) domain(n *node, first map[string]*node) *Domain {
	known := []string{"apiVersion", "domain", "unmatched", "quotas"}
	ruled := n.has("descriptors")
	if ruled {
		known = []string{"apiVersion", "domain", "unmatched", "metadata", "descriptors"}
	}
	o := d.object(n, "", known...)
	if o == nil {
		return nil
	}
	if v := o.get("apiVersion"); v == nil && !ruled {
		o.require("apiVersion")
	} else if v != nil && v.text != Version {
		d.errorf(v, "apiVersion", "must be %s, not %s", Version, v)
	}
	name := o.require("domain")
	if ruled {
		domain := &Domain{Name: d.domainText(name, first), Unmatched: Unmatched(o.word("unmatched", unmatcheds, int(Allow)))}
		d.ruled(o, domain)
		return domain
	}
	domain := &Domain{
		Name:      d.unique(name, "domain", "", first),
		Unmatched: Unmatched(o.word("unmatched", unmatcheds, int(Allow))),
	}
	quotas := o.require("quotas")
	if quotas != nil && quotas.kind != list {
		d.errorf(quotas, "quotas", "must be a list, not %s", quotas)
		return domain
	}
	if quotas != nil {
		names := make(map[string]*node, len(quotas.kids))
		for _, q := range quotas.kids {
			domain.Quotas = append(domain.Quotas, d.quota(q, domain.Name, names))
		}
	}
	return domain
}

// unique reads a name that no other in first has.
func (d *decoder) unique(n *node, path, prefix string, first map[string]*node) string {
	name := d.name(n, path)
	if name == "" {
		return ""
	}
	if before := first[name]; before != nil {
		d.errorf(n, path, "%s is already defined at %d:%d", quote(prefix+name), before.line, before.column)
	} else {
		first[name] = n
	}
	return name
}

// quota reads one quota of a domain. names holds those already seen.
func (d *decoder) quota(n *node, domain string, names map[string]*node) *Quota {
	o := d.object(n, "", "name", "match", "limit", "lease", "partition", "regions", "max_keys")
	if o == nil {
		return nil
	}
	q := &Quota{Domain: domain, File: d.file, Line: n.line, Column: n.column}
	q.Name = d.unique(o.require("name"), "name", domain+"/", names)
	q.ID = q.Domain + "/" + q.Name
	q.Match = d.match(o.require("match"))
	q.Limit, q.windows = d.limit(o.require("limit"))
	q.MaxKeys = int(o.integer("max_keys", maxKeys, defaultKeys))
	q.Lease = Lease{TTL: defaultTTL}
	if q.Limit.Unbounded {
		for _, name := range []string{"lease", "partition", "regions", "max_keys"} {
			o.refuse(name, "an unbounded quota has nothing to lend")
		}
		return q
	}
	if lease := o.get("lease"); lease != nil {
		q.Lease = d.lease(lease, q.Limit.Capacity())
	}
	if regions := o.get("regions"); regions != nil {
		q.Regions = d.regions(regions, q.Limit.Capacity())
	}
	q.Partition = d.partition(o.get("partition"), q)
	return q
}

func (d *decoder) lease(n *node, capacity int64) Lease {
	l := Lease{TTL: defaultTTL}
	o := d.object(n, "lease", "ttl", "size")
	if o == nil {
		return l
	}
	l.TTL = o.duration("ttl", minTTL, maxTTL, defaultTTL)
	size := o.get("size")
	if size == nil || size.isText() && size.text == "auto" {
		return l
	}
	l.Size = d.tokens(size, "lease.size", ", or auto")
	if capacity > 0 && l.Size > capacity {
		d.errorf(size, "lease.size", "%d is above the %d that the limit can hold at once", l.Size, capacity)
	}
	return l
}
