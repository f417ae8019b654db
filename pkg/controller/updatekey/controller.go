// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package updatekey

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
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
	"kubi.zone/kubizone/pkg/controller/class"
	"kubi.zone/kubizone/pkg/controller/transferclass"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/primary"
	"kubi.zone/kubizone/pkg/update"
)

const (
	// lookInterval is the time between two looks at the Secrets of all keys, and at names that classes have taken.
	lookInterval = 5 * time.Second
	// outcomeInterval is the least time between two writes of what came of updates.
	outcomeInterval = 10 * time.Second
	// askTimeout bounds one request to the API.
	askTimeout = 10 * time.Second
	// maxKeys bounds the keys of one namespace that are taken, the older first: each is a Secret that is watched.
	maxKeys = 64
)

// Reasons of the condition Ready.
const (
	reasonServed       = "Served"
	reasonSuspended    = "Suspended"
	reasonKeyNameTaken = "KeyNameTaken"
)

// Config of a Controller. All fields are required.
type Config struct {
	Primary *primary.Primary
	Poster  *Poster
	// Keys are started by the caller.
	Keys    informers.UpdateKeyInformer
	Client  versioned.Interface
	Secrets class.Secrets
}

// Controller keeps the update keys of one Primary. It runs once.
type Controller struct {
	Config
	synced  cache.InformerSynced
	changed chan struct{}
	// read are the keys of Secrets as they were read last, by UID. Run alone uses them.
	read map[types.UID]primary.Key
	// told is when what came of updates was last written.
	told time.Time
}

// New registers with the informer and does nothing before Run.
func New(config Config) (*Controller, error) {
	c := &Controller{Config: config, changed: make(chan struct{}, 1), read: map[types.UID]primary.Key{}}
	wake := func(any) {
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

// Run keeps the keys until ctx ends.
func (c *Controller) Run(ctx context.Context) {
	if !cache.WaitForCacheSync(ctx.Done(), c.synced) {
		return
	}
	for ctx.Err() == nil {
		if err := c.syncKeys(ctx); err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "Update keys are not as they should be; trying again")
		}
		select {
		case <-c.changed:
		case <-time.After(lookInterval):
		case <-ctx.Done():
		}
	}
}

// verdict is what the condition Ready of a key is to say.
type verdict struct{ reason, message string }

// syncKeys has the Primary take the keys that there are, and writes what became of each.
func (c *Controller) syncKeys(ctx context.Context) error {
	all, err := c.Keys.Lister().List(labels.Everything())
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b *v1alpha1.UpdateKey) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.UID, b.UID))
	})
	verdicts, served, names := map[types.UID]verdict{}, []*primary.UpdateKey{}, map[types.UID]string{}
	taken := map[string]int{} // by namespace
	for _, of := range all {
		if taken[of.Namespace]++; taken[of.Namespace] > maxKeys {
			verdicts[of.UID] = verdict{string(delivery.ReasonQuotaExceeded), fmt.Sprintf("namespace %s has %d older UpdateKeys, and no "+
				"more are taken (S13.9); one key may have several patterns", of.Namespace, maxKeys)}
			continue
		}
		key, v := c.readKey(ctx, of)
		if v.reason != reasonServed {
			verdicts[of.UID] = v
			continue
		}
		one, err := makeKey(of, key)
		if err != nil {
			verdicts[of.UID] = verdict{string(delivery.ReasonInvalidConfiguration), err.Error()}
			continue
		}
		served, names[of.UID], verdicts[of.UID] = append(served, one), key.Name, v
	}
	named, err := c.Primary.SetUpdateKeys(served)
	if err != nil {
		return err
	}
	outcomes := map[string]outcome{}
	if time.Since(c.told) >= outcomeInterval {
		outcomes, c.told = c.Poster.takeOutcomes(), time.Now()
	}
	var failed []error
	for _, of := range all {
		v := verdicts[of.UID]
		if named[idOf(of)] {
			v = verdict{reasonKeyNameTaken, fmt.Sprintf("another key is named %s; name this one otherwise, in the Secret and at its "+
				"clients, and make another UpdateKey", names[of.UID])}
			delete(names, of.UID)
		}
		failed = append(failed, c.writeStatus(ctx, of, names[of.UID], v, outcomes[idOf(of)]))
	}
	return errors.Join(failed...)
}

// readKey reads the key of an UpdateKey. While the API does not answer, what was read before is used.
func (c *Controller) readKey(ctx context.Context, of *v1alpha1.UpdateKey) (primary.Key, verdict) {
	if of.Spec.Suspended {
		delete(c.read, of.UID)
		return primary.Key{}, verdict{reasonSuspended, "spec.suspended is true"}
	}
	secret := of.Namespace + "/" + of.Spec.TSIGSecretRef.Name
	key, err := transferclass.Key(v1alpha1.SecretReference{Namespace: of.Namespace, Name: of.Spec.TSIGSecretRef.Name},
		func(namespace, name string) (map[string][]byte, error) { return c.Secrets.Get(ctx, namespace, name) })
	var known *delivery.Error
	switch {
	case err == nil:
		c.read[of.UID] = key
	case errors.Is(err, class.ErrSecretNotFound):
		delete(c.read, of.UID)
		return key, verdict{string(delivery.ReasonSecretNotFound), fmt.Sprintf("Secret %s: %v", secret, err)}
	case apierrors.IsForbidden(err):
		delete(c.read, of.UID)
		return key, verdict{string(delivery.ReasonAuthenticationFailed), fmt.Sprintf("the primary may not read Secret %s: give "+
			"its ServiceAccount a Role with get and watch of this Secret (docs/updates.md)", secret)}
	case errors.As(err, &known):
		delete(c.read, of.UID)
		return key, verdict{string(known.Reason), known.Message}
	default:
		before, ok := c.read[of.UID]
		if !ok {
			return key, verdict{string(delivery.ReasonServerUnreachable), err.Error()}
		}
		key = before
	}
	if first := of.Status.KeyName; first != "" && first != key.Name {
		return key, verdict{reasonKeyNameTaken, fmt.Sprintf("the Secret has a key named %s, and at first use it was %s (S13.3); put that "+
			"name back, or make another UpdateKey", key.Name, first)}
	}
	return key, verdict{reasonServed, fmt.Sprintf("a primary takes key %s", key.Name)}
}

func makeKey(of *v1alpha1.UpdateKey, key primary.Key) (*primary.UpdateKey, error) {
	var records []update.ScopeRecords
	for _, r := range of.Spec.Records {
		records = append(records, update.ScopeRecords(r))
	}
	scope, err := update.NewScope(records)
	if err != nil {
		return nil, err
	}
	transfer := map[v1alpha1.UpdateTransfer]primary.Transfer{v1alpha1.UpdateTransferOwn: primary.TransferOwn,
		v1alpha1.UpdateTransferZone: primary.TransferZone}[of.Spec.Transfer]
	return &primary.UpdateKey{Key: key, ID: idOf(of), Tenant: of.Namespace, View: of.Spec.View, Covers: scope.CoversName,
		Reaches: scope.Reaches, Transfer: transfer}, nil
}

// writeStatus writes the status where it is another one. keyName is that of a key that is served.
func (c *Controller) writeStatus(ctx context.Context, of *v1alpha1.UpdateKey, keyName string, v verdict, o outcome) error {
	after := of.DeepCopy()
	status := &after.Status
	status.ObservedGeneration = of.Generation
	if status.KeyName == "" {
		status.KeyName = keyName
	}
	status.LastUpdate, status.LastRefusal = cmp.Or(o.update, status.LastUpdate), cmp.Or(o.refusal, status.LastRefusal)
	is := metav1.ConditionFalse
	if v.reason == reasonServed {
		is = metav1.ConditionTrue
	}
	meta.SetStatusCondition(&status.Conditions, metav1.Condition{Type: v1alpha1.ConditionReady, Status: is, Reason: v.reason,
		Message: v.message, ObservedGeneration: of.Generation})
	if apiequality.Semantic.DeepEqual(of.Status, after.Status) {
		return nil
	}
	asking, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	_, err := c.Client.KubizoneV1alpha1().UpdateKeys(of.Namespace).UpdateStatus(asking, after, metav1.UpdateOptions{})
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil // the informer tells of it
	}
	return err
}
