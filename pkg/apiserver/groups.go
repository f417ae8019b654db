// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/acme"
	"kubi.zone/kubizone/pkg/apis/decoding"
	"kubi.zone/kubizone/pkg/apis/kubizone/install"
	"kubi.zone/kubizone/pkg/apiserver/history"
	"kubi.zone/kubizone/pkg/apiserver/judge"
	"kubi.zone/kubizone/pkg/apiserver/quota"
	acmesolver "kubi.zone/kubizone/pkg/apiserver/registry/acme"
	fleet "kubi.zone/kubizone/pkg/apiserver/registry/bind9"
	"kubi.zone/kubizone/pkg/apiserver/registry/changeset"
	"kubi.zone/kubizone/pkg/apiserver/registry/delegation"
	"kubi.zone/kubizone/pkg/apiserver/registry/delivery"
	"kubi.zone/kubizone/pkg/apiserver/registry/direct"
	"kubi.zone/kubizone/pkg/apiserver/registry/dnsclass"
	"kubi.zone/kubizone/pkg/apiserver/registry/installation"
	"kubi.zone/kubizone/pkg/apiserver/registry/kind"
	"kubi.zone/kubizone/pkg/apiserver/registry/namereview"
	"kubi.zone/kubizone/pkg/apiserver/registry/record"
	"kubi.zone/kubizone/pkg/apiserver/registry/updatekey"
	"kubi.zone/kubizone/pkg/apiserver/registry/zone"
)

// groups has the storage of the API groups while installGroups adds their resources.
type groups struct {
	*Server
	registry install.Registry
	options  generic.RESTOptionsGetter
	stored   storageOptions
	budget   budgetJudge

	paths      map[string]rest.Storage // of kubi.zone
	records    *kind.REST[*v1alpha1.Record]
	deliveries *kind.REST[*v1alpha1.Delivery]
	dnsClasses *kind.REST[*v1alpha1.DNSClass]
	delivered  *deliveredZones
	reviews    *namereview.REST
	sets       *changeset.REST
	writer     *updatekey.Writer // of UpdateKeys and challenges
}

// installGroups adds all API groups to the generic server, and sets classes, judge and the callbacks between parts.
func (s *Server) installGroups(registry install.Registry, options generic.RESTOptionsGetter, stored storageOptions,
	items direct.Config) error {
	g := &groups{Server: s, registry: registry, options: options, stored: stored, paths: map[string]rest.Storage{},
		budget: budgetJudge{budgets: s.budgets, keys: s.ledger.Layout()}}

	// 1. The group kubi.zone. A kind comes after those that it asks: a Zone asks which classes deliver it, an UpdateKey
	// which names the rules allow.
	for _, add := range []func() error{g.addRecords, g.addDelegations, g.addClasses, g.addZones} {
		if err := add(); err != nil {
			return err
		}
	}
	g.addQuestions()
	g.addChangeSets()
	if err := g.addUpdateKeys(); err != nil {
		return err
	}
	first := g.newGroup(v1alpha1.SchemeGroupVersion, g.paths)
	all := []*genericapiserver.APIGroupInfo{first}

	// 2. The group bind9.kubi.zone. The judge reads classes and Zones of both groups.
	servers, clusters, err := fleet.NewStorage(fleet.Config{Scheme: registry.Scheme, RESTOptions: options,
		Authorizer: s.authorizer, Rules: stored.fleet})
	if err != nil {
		return err
	}
	all = append(all, g.newGroup(bind9.SchemeGroupVersion, servers))
	zones := g.paths["zones"].(*zone.REST)
	s.judge = judge.New(judge.Config{Ledger: s.ledger, WatchRecords: g.records.WatchAll, Frozen: s.Frozen,
		NewIndex: judge.IndexOf(zones, g.deliveries, g.dnsClasses, clusters, s.namespaces.informer),
		Registry: s.registry, Leases: s.leases, Announce: s.announcer.announceZone,
		WhileElected: func(ctx context.Context) { s.ledger.FollowExpiring(ctx, s.announcer.announceExpiring) }})

	// 3. The group acme.kubi.zone. A cert-manager asks it for challenges, which become change sets.
	if stored.acme.Serve {
		solver := acmesolver.NewREST(acmesolver.Config{Writer: g.writer, Authorizer: s.authorizer,
			ClusterIssuers: stored.acme.ClusterIssuers, RecordsExpireAfter: stored.acme.RecordsExpireAfter})
		all = append(all, g.newGroup(acme.SchemeGroupVersion, map[string]rest.Storage{acme.Resource: solver}))
	}
	if err := s.generic.InstallAPIGroups(all...); err != nil {
		return fmt.Errorf("API groups: %w", err)
	}

	// 4. The handler of change sets' items. It needs the OpenAPI of the installed group.
	items.Storage, items.Resource, items.Kind = g.records, v1alpha1.SchemeGroupVersion.WithResource("records"), "Record"
	items.Scheme, items.Serializer, items.Schemas = registry.Scheme, first.NegotiatedSerializer, first.StaticOpenAPISpec
	items.CheckText, items.Equivalents = checkItem, s.generic.EquivalentResourceRegistry
	handler, err := direct.New(items)
	if err != nil {
		return fmt.Errorf("items of change sets: %w", err)
	}
	g.sets.SetHandler(handler)
	return nil
}

func (g *groups) newGroup(of schema.GroupVersion, resources map[string]rest.Storage) *genericapiserver.APIGroupInfo {
	in := g.registry
	info := genericapiserver.NewDefaultAPIGroupInfo(of.Group, in.Scheme, in.ParameterCodec, in.Codecs)
	info.NegotiatedSerializer = decoding.Serializer{NegotiatedSerializer: in.Codecs, Creater: in.Scheme}
	info.VersionedResourcesStorageMap[of.Version] = resources
	return &info
}

func (g *groups) addRecords() (err error) {
	preview := judgePreview(g.budget, "records", g.ledger.PreviewRecord)
	g.records, err = record.Kind.AddStorage(g.paths, g.registry.Scheme, g.options, preview)
	return err
}

func (g *groups) addDelegations() error {
	// A copy of the kind, with a check that needs the informer of Namespaces.
	delegations := delegation.Kind
	delegations.Check = func(ctx context.Context, after, before *v1alpha1.Delegation) error {
		g.namespaces.warnOfAbsent(ctx, after.Spec.Namespaces, before.Spec.Namespaces)
		return nil
	}
	preview := judgePreview(g.budget, "delegations", g.ledger.PreviewDelegation)
	_, err := delegations.AddStorage(g.paths, g.registry.Scheme, g.options, preview)
	return err
}

// addClasses adds DNSClasses, and the Deliveries of zones by classes.
func (g *groups) addClasses() (err error) {
	deliveries := delivery.NewKind(delivery.Config{Authorizer: g.authorizer, Stale: g.inventory.ExplainStale,
		Zones: func() rest.Getter { return g.paths["zones"].(rest.Getter) }})
	if g.deliveries, err = deliveries.AddStorage(g.paths, g.registry.Scheme, g.options, nil); err != nil {
		return err
	}
	g.delivered = &deliveredZones{deliveries: g.deliveries, namespaces: &g.namespaces}
	classes := dnsclass.NewKind(g.stored.inlineSecrets, g.delivered.describeWithdrawn)
	classes.Check = g.delivered.warnOfViews
	if g.dnsClasses, err = classes.AddStorage(g.paths, g.registry.Scheme, g.options, nil); err != nil {
		return err
	}
	g.classes = dnsclass.NewLister(g.dnsClasses, g.namespaces.labelsOf)
	return nil
}

// addZones adds Zones with their subresources, such as zones/entries.
func (g *groups) addZones() error {
	// Watches of zones/changes end before the server drains requests, or they would delay the shutdown.
	stopping, stop := context.WithCancel(context.Background())
	if err := g.generic.AddPreShutdownHook("watches-of-changes", func() error { stop(); return nil }); err != nil {
		stop()
		return err
	}
	past := history.Reader{Ledger: g.ledger, Records: g.records, Began: g.namespaces.began}
	g.announcer.lastChange = past.LastChange
	if err := zone.AddStorage(g.paths, zone.Config{
		Scheme: g.registry.Scheme, RESTOptions: g.options, Authorizer: g.authorizer,
		Preview: judgePreview(g.budget, "zones", g.ledger.PreviewZone), WithEstablish: g.ledger.WithEstablish,
		WarnOfAbsent: g.namespaces.warnOfAbsent, Admits: g.classes.Admits, FirstClass: g.classes.FirstClass,
		ClassesWithoutRetain: g.classes.ClassesWithoutRetain,
		Views: views{g.stored.zones, g.feed.FrozenReason, g.ledger.Steps, g.ledger.AllSteps,
			g.ledger.EndedContent},
		Sources: &history.Sources{Ledger: g.ledger, Records: g.records}, History: past, Stopping: stopping,
	}); err != nil {
		return err
	}
	// Classes and zones need each other, so this field comes last.
	g.delivered.zones = g.paths["zones"].(zoneReader)
	return nil
}

// addQuestions adds the resources that answer and store nothing.
func (g *groups) addQuestions() {
	g.reviews = namereview.NewREST(namereview.Config{Authorizer: g.authorizer, Admit: g.budget.admitQuestion,
		Review: g.ledger.ReviewName, Zones: g.paths["zones"].(rest.Lister),
		Delegations: g.paths["delegations"].(rest.Lister)})
	g.paths["namereviews"] = g.reviews
	g.paths["installations"] = installation.NewREST(g.inventory.ReadStatus)
}

func (g *groups) addChangeSets() {
	config := changeset.Config{NewSet: func(n int, manager string, dry bool) changeset.Set {
		set := g.ledger.NewSet(n)
		set.Manager, set.DryRun = manager, dry
		within := g.budget
		// Each set sums its own growth: 100 small Records may together exceed the budget.
		within.set = setGrowth{}
		return &changeSet{set, g.records, within}
	}}
	if g.core != nil {
		config.ReturnQuota = quota.Return{Core: g.core, Etcd: g.client.Client, Keys: g.ledger.Layout()}.ReturnQuota
	}
	g.sets = changeset.NewREST(config)
	g.paths["changesets"] = g.sets
}

// addUpdateKeys adds UpdateKeys, and the updates by their holders, which become change sets.
func (g *groups) addUpdateKeys() error {
	kind := updatekey.NewKind(g.authorizer, g.reviews.ListRules, g.announcer.announceNameTaken)
	keys, err := kind.AddStorage(g.paths, g.registry.Scheme, g.options, nil)
	if err != nil {
		return err
	}
	updated := &updatedZones{g.stored.zones, g.ledger}
	g.writer = updatekey.NewWriter(g.sets, updated)
	g.paths["updatekeys/update"] = updatekey.NewUpdateREST(keys, g.writer, g.announcer.announceRefused)
	g.paths["updatekeys/share"] = updatekey.NewShareREST(keys, g.records, updated)
	return nil
}
