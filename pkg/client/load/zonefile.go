// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/objectname"
	"kubi.zone/kubizone/pkg/apis/rrsets"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/zonefile"
)

// LabelLoaded is a label of a Zone with the digest of file, view and namespace, set after a load without a refusal.
const LabelLoaded = "kubi.zone/loaded"

const (
	// Raise planVersion when the program makes other objects of the same file, so that the file is loaded again.
	planVersion = 3
)

func (l *Loader) loadZoneFile(ctx context.Context, path string, source Source) (Result, error) {
	text, err := l.ReadText(ctx, path, func() ([]byte, error) { return os.ReadFile(path) })
	if err != nil {
		return Result{}, err
	}
	mark := l.fileDigest(text, source, guessOrigin(path, text).origin)
	if zone, err := l.findZoneByDigest(ctx, mark); err != nil {
		return Result{}, err
	} else if zone != nil {
		l.printf("%s is loaded already: zone %s is %s/%s", path, zone.Spec.DomainName, zone.Namespace, zone.Name)
		l.zoneScope(types.NamespacedName{Namespace: zone.Namespace, Name: zone.Name}, zone.Namespace).doubt = path + " was loaded before"
		return Result{Present: 1}, nil
	}
	target := Target{Namespace: l.cfg.Namespace, View: source.View, Origin: source.Origin, CreateZone: true}
	if target.Zone, err = l.findZoneOfFile(ctx, path, text, source); err != nil {
		return Result{}, err
	}
	if into := l.zoneScope(target.Zone, target.Namespace); len(into.paths) > 0 {
		l.printf("%s: %s is in %s, too: their records are merged", path, into.what(), strings.Join(into.paths, ", "))
	}
	result, err := l.importFile(ctx, path, text, target)
	if err == nil && result.Refused+result.Left == 0 {
		err = l.setMark(ctx, target.Zone, mark)
	}
	return result, err
}

// findZoneOfFile returns the Zone with the name in the file's SOA, or a free object name.
func (l *Loader) findZoneOfFile(ctx context.Context, path string, text []byte, source Source) (id types.NamespacedName, err error) {
	p, guess := &plan{}, guessOrigin(path, text)
	all, soa, err := p.readRows(path, untilSOA(zonefile.Read(bytes.NewReader(text),
		zonefile.ReadOptions{Origin: guess.orGiven(source.Origin), Guess: guess.answerReader})))
	switch {
	case err != nil:
		return id, err
	case soa < 0 && guess.missed():
		return id, fmt.Errorf("%w; %s", p.noSOA(), howToSayOrigin)
	case soa < 0:
		return id, p.noSOA()
	case !source.Origin.IsZero() && all[soa].Name != source.Origin:
		return id, fmt.Errorf("the file is of zone %s, and its argument names %s; correct one of them", all[soa].Name, source.Origin)
	}
	list, err := rrsets.Retry(ctx, func() (*v1alpha1.ZoneList, error) {
		return l.typed.KubizoneV1alpha1().Zones(l.cfg.Namespace).List(ctx, metav1.ListOptions{})
	})
	if err != nil {
		return id, err
	}
	id.Namespace = l.cfg.Namespace
	taken := make(map[string]bool)
	for i := range list.Items {
		zone := &list.Items[i]
		fqdn, err := name.Parse(zone.Spec.DomainName)
		if id.Name = zone.Name; err == nil && fqdn == all[soa].Name && zone.Spec.View == source.View {
			return id, nil
		}
		taken[zone.Name] = true
	}
	names := objectname.OfZone(all[soa].Name, source.View)
	for _, id.Name = range names {
		if !taken[id.Name] {
			return id, nil
		}
	}
	return id, fmt.Errorf("the object names %q are taken in namespace %s; use another one with --load-namespace", names, id.Namespace)
}

func untilSOA(rows iter.Seq2[zonefile.RR, error]) iter.Seq2[zonefile.RR, error] {
	return func(yield func(zonefile.RR, error) bool) {
		for row, err := range rows {
			if !yield(row, err) || err == nil && row.Type == rdata.SOA {
				return
			}
		}
	}
}

func (l *Loader) fileDigest(text []byte, source Source, guess name.Name) string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%d|%s|%s|%s|%s|", planVersion, source.View, l.cfg.Namespace, source.Origin, guess)
	sum.Write(text)
	return hex.EncodeToString(sum.Sum(nil))[:40] // of at most 63 characters in a label
}

func (l *Loader) findZoneByDigest(ctx context.Context, mark string) (*v1alpha1.Zone, error) {
	list, err := rrsets.Retry(ctx, func() (*v1alpha1.ZoneList, error) {
		return l.typed.KubizoneV1alpha1().Zones(l.cfg.Namespace).List(ctx,
			metav1.ListOptions{LabelSelector: labels.Set{LabelLoaded: mark}.String()})
	})
	if err != nil {
		return nil, err
	}
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp == nil {
			return &list.Items[i], nil
		}
	}
	return nil, nil
}

func (l *Loader) setMark(ctx context.Context, zone types.NamespacedName, mark string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": map[string]string{LabelLoaded: mark}}})
	if err != nil {
		return err
	}
	_, err = rrsets.Retry(ctx, func() (*v1alpha1.Zone, error) {
		return l.typed.KubizoneV1alpha1().Zones(zone.Namespace).Patch(ctx, zone.Name, types.MergePatchType, patch,
			metav1.PatchOptions{FieldManager: l.cfg.FieldManager})
	})
	if err != nil {
		return fmt.Errorf("zone %s: %w", zone, err)
	}
	return nil
}
