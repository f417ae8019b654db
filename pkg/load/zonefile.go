// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/zonefile"
	"kubi.zone/kubizone/pkg/objectname"
	"kubi.zone/kubizone/pkg/rrsets"
)

// LabelLoaded on a Zone is the digest of file, view and namespace after a load without a refusal (L3).
const LabelLoaded = "kubi.zone/loaded"

const (
	// planVersion is raised with a program that makes other objects from the same files, to load them again.
	planVersion = 2
)

func (l *Loader) loadZoneFile(ctx context.Context, path string, source Source) (Result, error) {
	began := time.Now()
	text, err := l.ReadText(ctx, path, func() ([]byte, error) { return os.ReadFile(path) })
	if err != nil {
		return Result{}, err
	}
	short := filepath.Base(path)
	view, guess := source.View, l.guessOrigin(path)
	mark := l.fileDigest(text, source, guess)
	if zone, err := l.findZoneByDigest(ctx, mark); err != nil {
		return Result{}, err
	} else if zone != nil {
		l.printf("%s is loaded already: zone %s%s is %s/%s", short, zone.Spec.DomainName, inView(zone.Spec.View), zone.Namespace, zone.Name)
		l.zoneScope(types.NamespacedName{Namespace: zone.Namespace, Name: zone.Name}, zone.Namespace).doubt = path + " was loaded before"
		return Result{Present: 1}, nil
	}
	p, err := makePlan(path, zonefile.Read(bytes.NewReader(text), zonefile.ReadOptions{Origin: source.Origin, Guess: guess.answerReader}),
		view, l.cfg.Namespace)
	switch {
	case errors.Is(err, errNoSOA) && guess.missed:
		return Result{}, fmt.Errorf("%w; %s", err, howToSayOrigin)
	case err != nil:
		return Result{}, err
	case !source.Origin.IsZero() && p.fqdn != source.Origin:
		return Result{}, fmt.Errorf("the file is of zone %s, and its argument names %s; correct one of them", p.fqdn, source.Origin)
	}
	l.reportPlan(p)
	result := Result{Refused: len(p.refusals)}
	var zone *v1alpha1.Zone
	one, err := l.putDroppingRefusedFields(p, func() (one Result, err error) {
		zone, one, err = l.putZone(ctx, p)
		return one, err
	})
	result.Add(one)
	if err != nil {
		return result, fmt.Errorf("zone %s: %w", p.fqdn, err)
	}
	to := p.destination(types.NamespacedName{Namespace: zone.Namespace, Name: zone.Name})
	into := l.zoneScope(to.zone, to.namespace)
	if len(into.paths) > 0 {
		l.printf("%s: zone %s is in %s, too: their records are merged", path, p.fqdn, strings.Join(into.paths, ", "))
	}
	into.addFile(path, p, to)
	more, err := l.putRecords(ctx, path, p.sets, to, into)
	result.Add(more)
	if err != nil {
		return result, err
	}
	if result.Refused == 0 && result.Left == 0 {
		if err := l.setMark(ctx, zone, mark); err != nil {
			return result, fmt.Errorf("zone %s: %w", p.fqdn, err)
		}
	}
	l.printf("%s is zone %s%s as %s/%s: %d RRsets; %s, in %.1f s", short, p.fqdn, inView(view), zone.Namespace, zone.Name, len(p.sets),
		result, time.Since(began).Seconds())
	into.readable = true
	return result, nil
}

func inView(view string) string {
	if view == "" {
		return ""
	}
	return " in view " + view
}

func (l *Loader) fileDigest(text []byte, source Source, guess *originGuess) string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%d|%s|%s|%s|%s|", planVersion, source.View, l.cfg.Namespace, source.Origin, guess.origin)
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

func (l *Loader) setMark(ctx context.Context, zone *v1alpha1.Zone, mark string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": map[string]string{LabelLoaded: mark}}})
	if err != nil {
		return err
	}
	_, err = rrsets.Retry(ctx, func() (*v1alpha1.Zone, error) {
		return l.typed.KubizoneV1alpha1().Zones(zone.Namespace).Patch(ctx, zone.Name, types.MergePatchType, patch, l.patchOptions())
	})
	return err
}

func (l *Loader) putDroppingRefusedFields(p *plan, put func() (Result, error)) (Result, error) {
	refused := 0
	for {
		result, err := put()
		dropped := p.dropRefused(err)
		for _, r := range dropped {
			l.reportRefused(r)
		}
		if refused += len(dropped); len(dropped) == 0 {
			result.Refused += refused
			return result, err
		}
	}
}

func (l *Loader) putZone(ctx context.Context, p *plan) (*v1alpha1.Zone, Result, error) {
	ctx = l.withZone(ctx, nil)
	zones := l.typed.KubizoneV1alpha1().Zones(l.cfg.Namespace)
	have, err := l.findZone(ctx, p)
	if err != nil {
		return nil, Result{}, err
	}
	if have == nil {
		zone := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: l.cfg.Namespace}, Spec: p.spec}
		var made *v1alpha1.Zone
		for _, zone.Name = range objectname.OfZone(p.fqdn, p.view) {
			made, err = rrsets.Retry(ctx, func() (*v1alpha1.Zone, error) {
				return zones.Create(ctx, zone, l.createOptions())
			})
			if err == nil {
				return made, Result{Written: 1}, nil
			}
			if !apierrors.IsAlreadyExists(err) {
				return nil, Result{}, err
			}
			// The readable name is another zone's, or the answer to our creation was lost.
			if have, err = l.findZone(ctx, p); err != nil || have != nil {
				break
			}
		}
		if err != nil {
			return nil, Result{}, err
		}
		if have == nil {
			return nil, Result{}, fmt.Errorf("the object names %q are taken in namespace %s; use another one with --load-namespace",
				objectname.OfZone(p.fqdn, p.view), l.cfg.Namespace)
		}
	}
	at := p.soa
	at.Text = fmt.Sprintf("zone %s (%s/%s)", p.fqdn, have.Namespace, have.Name)
	switch {
	case sameZone(&have.Spec, &p.spec):
		return have, Result{Present: 1}, nil
	case l.reportChanged(at, have.ManagedFields):
		return have, Result{Left: 1}, nil
	}
	// A patch: every record changes its Zone, so a PUT would conflict.
	patch, err := zonePatch(&p.spec)
	if err != nil {
		return nil, Result{}, err
	}
	have, err = rrsets.Retry(ctx, func() (*v1alpha1.Zone, error) {
		return zones.Patch(ctx, have.Name, types.MergePatchType, patch, l.patchOptions())
	})
	if err != nil {
		return nil, Result{}, err
	}
	return have, Result{Written: 1}, nil
}

func zonePatch(spec *v1alpha1.ZoneSpec) ([]byte, error) {
	text, err := json.Marshal(spec)
	if err != nil {
		return nil, err
	}
	fields := map[string]any{"primaryNameServer": nil, "contact": nil, "minimumSerial": nil}
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, err
	}
	return json.Marshal(map[string]any{"spec": fields})
}

func (l *Loader) findZone(ctx context.Context, p *plan) (*v1alpha1.Zone, error) {
	list, err := rrsets.Retry(ctx, func() (*v1alpha1.ZoneList, error) {
		return l.typed.KubizoneV1alpha1().Zones(l.cfg.Namespace).List(ctx, metav1.ListOptions{})
	})
	if err != nil {
		return nil, err
	}
	for i := range list.Items {
		zone := &list.Items[i]
		if fqdn, err := name.Parse(zone.Spec.DomainName); err == nil && fqdn == p.fqdn && zone.Spec.View == p.view {
			return zone, nil
		}
	}
	return nil, nil
}

func sameZone(have, want *v1alpha1.ZoneSpec) bool {
	parts := want.DeepCopy()
	parts.TTL, parts.Refresh, parts.Retry, parts.Expire, parts.NegativeResponseCache = have.TTL, have.Refresh, have.Retry, have.Expire,
		have.NegativeResponseCache
	parts.Delegations, parts.PrimaryNameServer, parts.Contact, parts.MinimumSerial = have.Delegations, have.PrimaryNameServer, have.Contact,
		have.MinimumSerial
	return equality.Semantic.DeepEqual(parts, want)
}

func (l *Loader) zoneScope(zone types.NamespacedName, namespace string) *scope {
	key := zone.String() + " " + namespace
	s := l.scopes[key]
	if s == nil {
		s = &scope{zone: zone, wantedRRsets: make(map[rrset]bool)}
		l.scopes[key] = s
		l.scopeOrder = append(l.scopeOrder, s)
	}
	return s
}
