// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/rrsets"
	"kubi.zone/kubizone/pkg/zone/lawform"
)

// foreseeHold sets plan.Held if the server may take the revert for a mass deletion, and hold the zone (stop deliveries
// to name servers). RRsets of any age count here, although young RRsets begin no hold.
func (r *Reader) foreseeHold(ctx context.Context, plan *Plan, zone *v1alpha1.Zone) error {
	settled := meta.FindStatusCondition(zone.Status.Conditions, v1alpha1.ConditionSettled)
	isHeld := settled != nil && settled.Reason == v1alpha1.ReasonMassDeletion
	if isHeld {
		plan.Held = "the zone is held now: " + settled.Message
		return nil
	}

	growth := countGrowth(plan.Changes, zone.Namespace)
	lost := 0
	for _, gained := range growth {
		switch {
		case gained < 0:
			lost++
		case gained > 0:
			lost--
		}
	}

	stored, err := lawform.Zone(zone)
	if err != nil {
		return err
	}
	nameServers, err := r.losesNameServers(ctx, zone, growth[zone.Status.FQDN+" NS"])
	if err != nil {
		return err
	}

	if excess := stored.ForeseeHold(lost, nameServers); excess != nil {
		plan.Held = fmt.Sprintf("the revert holds the zone (S7.5), if its present RRsets are older than ten minutes: it lacks %s; the "+
			"annotation %s of the Zone lets this through", excess, v1alpha1.AnnotationPublishDeletions)
	}
	return nil
}

// countGrowth counts the Records gained by each RRset, by name and type. A loss is negative.
func countGrowth(changes []Reversal, namespace string) map[string]int {
	growth := map[string]int{}
	count := func(record *v1alpha1.Record, gained int) {
		if record != nil {
			growth[record.Status.FQDN+" "+record.Spec.Type] += gained
		}
	}
	for i := range changes {
		c := &changes[i]
		if c.Namespace == namespace {
			count(c.change.Before, -1)
			count(c.change.After, 1)
		}
	}
	return growth
}

func (r *Reader) losesNameServers(ctx context.Context, zone *v1alpha1.Zone, grown int) (bool, error) {
	if len(zone.Spec.NameServers) > 0 || grown >= 0 {
		return false, nil
	}
	records, err := rrsets.Retry(ctx, func() (*v1alpha1.RecordList, error) {
		return r.Client.Records(zone.Namespace).List(ctx, metav1.ListOptions{FieldSelector: fields.Set{
			v1alpha1.FieldRecordZone: zone.Namespace + "/" + zone.Name, v1alpha1.FieldRecordFQDN: zone.Status.FQDN,
			v1alpha1.FieldRecordType: "NS"}.String()})
	})
	if apierrors.IsForbidden(err) {
		return false, nil
	}
	return err == nil && len(records.Items)+grown <= 0, err
}

const maxShared = 200

// foreseeShared adds a Left (a remaining difference) for each removed value that another Record has. Such a Record
// may be in no step, because it did not change the zone.
func (r *Reader) foreseeShared(ctx context.Context, p *Plan, zone *v1alpha1.Zone, undone []v1alpha1.HistoryStep) error {
	if r.masked || zone.Status.Serial == 0 {
		return nil
	}
	known := p.knownRecords()
	removed := map[string]bool{}
	for i := range p.Changes {
		c := &p.Changes[i]
		if c.change.Before != nil {
			removed[c.change.Before.Status.FQDN] = true
		}
	}
	added := map[string]int{} // net, of the undone steps
	var names []string
	for i := range undone {
		x := &undone[i]
		for n, row := range eachRow(x) {
			if owner := ownerOf(row.Owner, x.FQDN); removed[owner] {
				added[RowLine(row, x.FQDN)] += n
				names = append(names, owner)
			}
		}
	}
	slices.Sort(names)
	if names = slices.Compact(names); len(names) > maxShared {
		p.Left = append(p.Left, Left{Text: "values of other Records", Writer: "any", Reason: "the revert has too many names to look for " +
			"Records with the same values; kubectl kubizone diff prints the rest"})
		return nil
	}
	for _, at := range names {
		answer := &v1alpha1.ZoneEntries{}
		_, err := rrsets.Retry(ctx, func() (struct{}, error) {
			return struct{}{}, r.Client.RESTClient().Get().Namespace(zone.Namespace).Resource("zones").Name(zone.Name).
				SubResource("entries").Param("sources", "true").Param("name", at).Do(ctx).Into(answer)
		})
		if apierrors.IsForbidden(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("entries of zone %s/%s: %w", zone.Namespace, zone.Name, err)
		}
		for i := range answer.Entries {
			e := &answer.Entries[i]
			line := fmt.Sprintf("%s %s %s", e.FQDN, e.Type, e.RData)
			if added[line] <= 0 {
				continue
			}
			for _, of := range e.Sources {
				if known[types.NamespacedName{Namespace: of.Namespace, Name: of.Name}] {
					continue
				}
				p.Left = append(p.Left, Left{Namespace: of.Namespace, Name: of.Name, Text: "- " + line, Writer: "namespace " + of.Namespace,
					Reason: "this Record has the value, too, and made no change of the zone; change it by hand"})
			}
		}
	}
	return nil
}
