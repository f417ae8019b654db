// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package updatekey

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	informers "kubi.zone/kubizone/api/client/informers/externalversions/kubizone/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/precedence"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/controller/transferclass"
	"kubi.zone/kubizone/pkg/delivery/secrets"
	"kubi.zone/kubizone/pkg/dns/tsig"
	"kubi.zone/kubizone/pkg/primary"
	"kubi.zone/kubizone/pkg/primary/updates"
	"kubi.zone/kubizone/pkg/zone/law/rules"
)

const (
	lookInterval    = 5 * time.Second
	outcomeInterval = 10 * time.Second
	askTimeout      = 10 * time.Second
	// maxKeys bounds a namespace's served UpdateKeys, the older first, since each has a watched Secret.
	maxKeys = 64
)

const (
	reasonServed    = "Served"
	reasonSuspended = "Suspended"
)

type Config struct {
	Primary *primary.Primary
	Poster  *Poster
	Keys    informers.UpdateKeyInformer
	Client  versioned.Interface
	Secrets secrets.Reader
	// WaitFirst returns when the Primary has the keys of all classes. Before, no name is assigned.
	WaitFirst func(ctx context.Context) error
}

// Controller gives the primary the TSIG keys of UpdateKeys, for signed dynamic updates. Call Run once.
type Controller struct {
	Config
	synced  cache.InformerSynced
	changed chan struct{} // wakes Run
	begun   chan struct{} // closed after the first sync
	// lastKeys are the last keys read from Secrets, by UID of the UpdateKey, for use while the API cannot be reached. A
	// missing, forbidden or invalid Secret ends the use of a key. For Run only.
	lastKeys map[types.UID]tsig.Key
	// recordedNames are the key names that this process wrote into a status, because the informer may lag. For Run
	// only.
	recordedNames map[types.UID]string
	// outcomes are the results of DNS UPDATE messages that are still to be written into a status, by ID of the key.
	outcomes        map[string]outcome
	outcomesTakenAt time.Time
}

// New makes a controller and registers with the informer. The caller starts the informer, then calls Run.
func New(config Config) (*Controller, error) {
	c := &Controller{Config: config, changed: make(chan struct{}, 1), begun: make(chan struct{}), lastKeys: map[types.UID]tsig.Key{},
		recordedNames: map[types.UID]string{}, outcomes: map[string]outcome{}}
	wake := func(any) {
		// Run looks at all keys, so one wake-up is enough for many changes.
		select {
		case c.changed <- struct{}{}:
		default:
		}
	}
	handler, err := c.Keys.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: wake,
		UpdateFunc: func(_, after any) { wake(after) }, DeleteFunc: wake})
	if err != nil {
		return nil, fmt.Errorf("informer: %w", err)
	}
	c.synced = handler.HasSynced
	return c, nil
}

// WaitForSync returns after the first syncKeys, or with the cause of ctx. Before, a primary would refuse unknown keys,
// and clients do not retry.
func (c *Controller) WaitForSync(ctx context.Context) error {
	select {
	case <-c.begun:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Run serves the keys until ctx ends. Run looks at all keys after each change, and each lookInterval for changed
// Secrets.
func (c *Controller) Run(ctx context.Context) {
	// Both waits end with ctx, too, and then no key is served.
	cache.WaitForCacheSync(ctx.Done(), c.synced)
	if c.WaitFirst(ctx) != nil {
		return
	}
	begin := sync.OnceFunc(func() { close(c.begun) })
	for ctx.Err() == nil {
		if err := c.syncKeys(ctx); err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "Update keys could not be updated; trying again")
		}
		begin()
		select {
		case <-c.changed:
		case <-time.After(lookInterval):
		case <-ctx.Done():
		}
	}
}

type verdict struct{ reason, message string }

func refuseName(format string, arguments ...any) verdict {
	return verdict{v1alpha1.ReasonKeyNameTaken, fmt.Sprintf(format, arguments...)}
}

type candidate struct {
	object *v1alpha1.UpdateKey
	key    *updates.Key // nil if verdict has the reason
	verdict
}

func (k *candidate) claims() map[string]string {
	switch {
	case k.object.Status.KeyName != "":
		return map[string]string{k.object.Status.KeyName: string(k.object.UID)}
	case k.key != nil:
		return map[string]string{k.key.Name: string(k.object.UID)}
	}
	return nil
}

func (k *candidate) uses() []string {
	if k.object.Status.KeyName == "" {
		return nil
	}
	return []string{k.object.Status.KeyName}
}

// syncKeys reads all UpdateKeys, serves those with a valid key and the right to the name, and writes their status. An
// error is logged, and the next call tries again.
func (c *Controller) syncKeys(ctx context.Context) error {
	candidates, err := c.readCandidates(ctx)
	if err != nil {
		return err
	}

	// A message identifies a key by the name alone, so serve a single key of each name. Record the use first, because
	// a name in use stays with its key.
	_, lost := precedence.Decide(candidates, (*candidate).claims, (*candidate).uses)
	var served []*updates.Key
	var failed []error
	for at, one := range candidates {
		if one.key == nil {
			continue
		}
		// An older UpdateKey or a class has the name.
		if _, isLost := lost[at]; isLost || c.Primary.HasClassKey(one.key.Name) {
			one.verdict = refuseName("another key is named %s; rename this key, in the Secret and at its clients, and create another "+
				"UpdateKey", one.key.Name)
			continue
		}
		if err := c.recordName(ctx, one); err != nil {
			failed = append(failed, ignoreChanged(err))
			one.verdict = verdict{string(delivery.ReasonServerUnreachable), fmt.Sprintf("the API does not record the use of "+
				"the name %s; the primary tries again, and its log has the error", one.key.Name)}
			continue
		}
		served = append(served, one.key)
	}
	if err := c.Primary.SetUpdateKeys(served); err != nil {
		return err
	}

	// Write the verdicts, and the last outcomes of messages. Outcomes not written are for the next call.
	if time.Since(c.outcomesTakenAt) >= outcomeInterval {
		for id, o := range c.Poster.takeOutcomes(klog.FromContext(ctx)) {
			before := c.outcomes[id]
			c.outcomes[id] = outcome{update: cmp.Or(o.update, before.update), refusal: cmp.Or(o.refusal, before.refusal)}
		}
		c.outcomesTakenAt = time.Now()
	}
	unwritten := map[string]outcome{}
	for _, one := range candidates {
		id := idOf(one.object)
		err := c.writeStatus(ctx, one.object, one.verdict, c.outcomes[id])
		if o, some := c.outcomes[id]; err != nil && some {
			unwritten[id] = o
		}
		failed = append(failed, ignoreChanged(err))
	}
	c.outcomes = unwritten
	return errors.Join(failed...)
}

// readCandidates reads the keys of all UpdateKeys, the oldest first. The verdict of a candidate without a key has the
// reason.
func (c *Controller) readCandidates(ctx context.Context) ([]*candidate, error) {
	all, err := c.Keys.Lister().List(labels.Everything())
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b *v1alpha1.UpdateKey) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.UID, b.UID))
	})
	candidates := make([]*candidate, 0, len(all))
	there := map[types.UID]bool{}
	taken := map[string]int{} // without suspended keys, whose Secrets are not read
	for _, of := range all {
		there[of.UID] = true
		// The informer may not show the recorded name yet. Another key could get the name meanwhile.
		if of.Status.KeyName == "" && c.recordedNames[of.UID] != "" {
			of = of.DeepCopy()
			of.Status.KeyName = c.recordedNames[of.UID]
		}
		one := &candidate{object: of}
		candidates = append(candidates, one)
		if !of.Spec.Suspended {
			taken[of.Namespace]++
		}
		if !of.Spec.Suspended && taken[of.Namespace] > maxKeys {
			one.verdict = verdict{string(delivery.ReasonQuotaExceeded), fmt.Sprintf("namespace %s has %d older UpdateKeys, and no "+
				"more are taken (S13.9); suspend or delete one, or give one several patterns", of.Namespace, maxKeys)}
			continue
		}
		var key tsig.Key
		if key, one.verdict = c.readKey(ctx, of); one.reason != reasonServed {
			continue
		}
		if one.key, err = makeKey(of, key); err != nil {
			one.verdict = verdict{string(delivery.ReasonInvalidConfiguration), err.Error()}
		}
	}
	maps.DeleteFunc(c.lastKeys, func(uid types.UID, _ tsig.Key) bool { return !there[uid] })
	maps.DeleteFunc(c.recordedNames, func(uid types.UID, _ string) bool { return !there[uid] })
	return candidates, nil
}

// recordName writes the name of a key into the UpdateKey's status before the first use. The name is the key's from then
// on (S13.3).
func (c *Controller) recordName(ctx context.Context, one *candidate) error {
	if one.object.Status.KeyName != "" {
		return nil
	}
	after := one.object.DeepCopy()
	after.Status.KeyName = one.key.Name
	written, err := c.updateStatus(ctx, after)
	if err != nil {
		return fmt.Errorf("the first use of key %s by UpdateKey %s: %w", one.key.Name, idOf(one.object), err)
	}
	one.object, c.recordedNames[one.object.UID] = written, one.key.Name
	return nil
}

// readKey reads the key of an UpdateKey, and decides about the key's name. The reason of the verdict is reasonServed if
// the key may be used.
func (c *Controller) readKey(ctx context.Context, of *v1alpha1.UpdateKey) (tsig.Key, verdict) {
	if of.Spec.Suspended {
		delete(c.lastKeys, of.UID)
		return tsig.Key{}, verdict{reasonSuspended, "spec.suspended is true"}
	}
	secret := of.Namespace + "/" + of.Spec.TSIGSecretRef.Name
	key, err := secrets.ReadTSIGKey(v1alpha1.SecretReference{Namespace: of.Namespace, Name: of.Spec.TSIGSecretRef.Name},
		func(namespace, name string) (map[string][]byte, error) { return c.Secrets.Get(ctx, namespace, name) })
	var known *delivery.Error
	switch {
	case err == nil:
		c.lastKeys[of.UID] = key
	case errors.Is(err, secrets.ErrNotFound):
		delete(c.lastKeys, of.UID)
		return key, verdict{string(delivery.ReasonSecretNotFound), secrets.DescribeMissing(err, of.Namespace, of.Spec.TSIGSecretRef.Name)}
	// The namespace may withdraw this right, and so ends the use of the key.
	case apierrors.IsForbidden(err):
		delete(c.lastKeys, of.UID)
		return key, verdict{string(delivery.ReasonAuthenticationFailed), fmt.Sprintf("the primary may not read Secret %s: give "+
			"its ServiceAccount a Role with get and watch of this Secret (docs/updates.md)", secret)}
	case errors.As(err, &known):
		delete(c.lastKeys, of.UID)
		return key, verdict{string(known.Reason), known.Message}
	default:
		// The API does not answer: the last key stays in use.
		before, ok := c.lastKeys[of.UID]
		if !ok {
			return key, verdict{string(delivery.ReasonServerUnreachable), err.Error()}
		}
		key = before
	}
	if first := of.Status.KeyName; first != "" && first != key.Name {
		return key, refuseName("the Secret has a key named %s, and at first use it was %s (S13.3); put that name back, or make another "+
			"UpdateKey", key.Name, first)
	}
	// The name ns1.team-b. is for team-b alone: with the name, team-a could sign as team-b's key.
	if namespace, ofServer := transferclass.NamespaceOfKey(key); ofServer || namespace != "" && namespace != of.Namespace {
		return key, refuseName("a key named %s is for %s (S13.14); name the key %s.%s., in the Secret and at its clients", key.Name,
			describeOwner(namespace, ofServer), key.Labels()[0], of.Namespace)
	}
	return key, verdict{reasonServed, fmt.Sprintf("a primary takes key %s", key.Name)}
}

func describeOwner(namespace string, ofServer bool) string {
	if ofServer {
		return "a BIND 9 server of namespace " + namespace
	}
	return "namespace " + namespace + " alone"
}

// makeKey returns the key with the scope of the UpdateKey, for the primary. An error means an invalid pattern.
func makeKey(of *v1alpha1.UpdateKey, key tsig.Key) (*updates.Key, error) {
	var records []rules.ScopeRecords
	for _, r := range of.Spec.Records {
		records = append(records, rules.ScopeRecords(r))
	}
	scope, err := rules.NewScope(records)
	if err != nil {
		return nil, err
	}
	transfer := map[v1alpha1.UpdateTransfer]updates.Transfer{v1alpha1.UpdateTransferOwn: updates.TransferOwn,
		v1alpha1.UpdateTransferZone: updates.TransferZone}[of.Spec.Transfer]
	return &updates.Key{Key: key, ID: idOf(of), Tenant: of.Namespace, View: of.Spec.View, Covers: scope.CoversName,
		Reaches: scope.Reaches, Transfer: transfer}, nil
}

// writeStatus writes verdict and outcome into an UpdateKey's status, unless nothing changes. A later outcome of another
// primary stays.
func (c *Controller) writeStatus(ctx context.Context, of *v1alpha1.UpdateKey, v verdict, o outcome) error {
	after := of.DeepCopy()
	status := &after.Status
	status.ObservedGeneration = of.Generation
	if last := status.LastUpdate; o.update != nil && (last == nil || !o.update.Time.Before(&last.Time)) {
		status.LastUpdate = o.update
	}
	if last := status.LastRefusal; o.refusal != nil && (last == nil || !o.refusal.Time.Before(&last.Time)) {
		status.LastRefusal = o.refusal
	}
	is := metav1.ConditionFalse
	if v.reason == reasonServed {
		is = metav1.ConditionTrue
	}
	meta.SetStatusCondition(&status.Conditions, metav1.Condition{Type: v1alpha1.ConditionReady, Status: is, Reason: v.reason,
		Message: v.message, ObservedGeneration: of.Generation})
	if apiequality.Semantic.DeepEqual(of.Status, after.Status) {
		return nil
	}
	_, err := c.updateStatus(ctx, after)
	return err
}

// ignoreChanged drops the error of a changed or deleted UpdateKey, because the informer delivers the change.
func ignoreChanged(err error) error {
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func (c *Controller) updateStatus(ctx context.Context, after *v1alpha1.UpdateKey) (*v1alpha1.UpdateKey, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	return c.Client.KubizoneV1alpha1().UpdateKeys(after.Namespace).UpdateStatus(ctx, after, metav1.UpdateOptions{})
}
