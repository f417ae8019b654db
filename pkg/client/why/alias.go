// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"context"
	"slices"
	"strings"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/reasons"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

// Bounds of a chain of aliases. Resolvers follow about as many; a longer chain, or a deeper name, is not judged.
const maxAliases, maxAliasLabels = 8, 8

// AliasFault is the end of a chain of CNAME without data.
type AliasFault struct {
	// Owner has the last CNAME. Target is its target, which has no data or, if Loops, an earlier CNAME of the chain.
	Owner, Target name.Name
	Loops         bool
}

// findAliasFault follows the CNAME of f through zones of ours. A target elsewhere, in another view or without the right
// to read its zone is no fault, nor is one of a challenge (RFC 8555 §8.4), whose data come and go.
func (i *inquiry) findAliasFault(ctx context.Context, f *Facts) error {
	if f.Type != rdata.CNAME || len(f.ExpectedData) != 1 || f.Zone == nil {
		return nil
	}
	seen, text := []name.Name{f.AskedName}, f.ExpectedData[0]
	for len(seen) <= maxAliases {
		target, err := name.Parse(text)
		if err != nil {
			return nil
		}
		owner := seen[len(seen)-1]
		if slices.Contains(seen, target) {
			f.AliasFault = &AliasFault{owner, target, true}
			return nil
		}
		entries, isAbsent, err := i.readTarget(ctx, target, f.Zone.View)
		if isAbsent && !strings.HasPrefix(f.AskedName.String(), "_acme-challenge.") {
			f.AliasFault = &AliasFault{owner, target, false}
		}
		if len(entries) != 1 || entries[0].Type != rdata.CNAME.String() || err != nil {
			return err
		}
		seen, text = append(seen, target), entries[0].RData
	}
	return nil
}

// readTarget returns the entries that answer for a name, perhaps of a wildcard. isAbsent is true if a zone of the view
// encloses the name and has none.
func (i *inquiry) readTarget(ctx context.Context, target name.Name, view string) (answer []v1alpha1.Entry, isAbsent bool, err error) {
	zones, err := i.search.Enclosing(ctx, target)
	at := slices.IndexFunc(zones, func(z v1alpha1.Zone) bool { return z.Status.View == view })
	if err != nil || at < 0 || zones[at].Status.Serial == 0 {
		return nil, false, err
	}
	zone, lacks := &zones[at], ""
	apex, err := name.Parse(zone.Status.FQDN)
	if err != nil || target.NumLabels()-apex.NumLabels() > maxAliasLabels {
		return nil, false, nil
	}
	// Each step reads a name, then the wildcard beside it. A cut or DNAME above the target ends the search, too.
	for ancestor := target; ancestor != apex; ancestor, _ = ancestor.Parent() {
		above, _ := ancestor.Parent()
		wildcard, parsing := name.Parse("*." + above.String())
		for _, owner := range []name.Name{ancestor, wildcard} {
			all, failed := i.readEntries(ctx, zone.Namespace, zone.Name, owner, false, &lacks)
			if failed != nil || lacks != "" || parsing != nil {
				return nil, false, failed
			}
			answer = slices.DeleteFunc(all, func(e v1alpha1.Entry) bool { return e.FQDN != owner.String() })
			if len(answer) > 0 {
				return answer, false, nil
			}
		}
	}
	all, err := i.readEntries(ctx, zone.Namespace, zone.Name, apex, false, &lacks)
	answersAll := slices.ContainsFunc(all, func(e v1alpha1.Entry) bool { return e.Type == rdata.DNAME.String() })
	return nil, target != apex && !answersAll && lacks == "", err
}

// judgeAlias adds a link of a Record that fails, with its next step, if the chain of aliases ends without data.
func (j *judgement) judgeAlias() {
	a := j.AliasFault
	switch {
	case a == nil:
	case a.Loops:
		j.add(KindRecord, a.Owner.String(), Fails, "its CNAME leads back to %s, so resolvers answer SERVFAIL", a.Target).
			setStep(reasons.You, "let a CNAME of the loop lead to another name")
	default:
		j.add(KindRecord, a.Owner.String(), Fails, "its CNAME leads to %s, which has no data in a zone of this server", a.Target).
			setStep(reasons.You, "create a Record at %s, or let the CNAME lead to another name", a.Target)
	}
}
