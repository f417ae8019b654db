// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	"kubi.zone/kubizone/pkg/bind9/fleet/render"
)

// applyAll applies objects until one fails: pods come last, and never without what they mount. A Service that waits for
// them to be taken over keeps none of them from being made.
func (c *children) applyAll(ctx context.Context, namespace string, objects []render.Object, serving func() error) error {
	var first error
	for _, o := range objects {
		err := c.applyObject(ctx, namespace, o, serving)
		if waits := (*takingOver)(nil); err != nil && !errors.As(err, &waits) {
			return err
		}
		first = cmp.Or(first, err)
	}
	return first
}

// applyObject makes an object what it shall be. Where it is so already, nothing is sent (F1). serving says what a pod
// of ours lacks to take the place of those behind a Service of another manager.
func (c *children) applyObject(ctx context.Context, namespace string, o render.Object, serving func() error) error {
	text, err := json.Marshal(o.Config)
	if err != nil {
		return err
	}
	key := childKey{o.Resource, namespace, o.Name}
	have := c.cached(o.Resource, namespace, o.Name)
	force := have != nil
	if have != nil {
		c.mu.Lock()
		last := c.applied[key]
		c.mu.Unlock()
		if last == (applied{sha256.Sum256(text), formatFingerprint(have)}) {
			return nil
		}
	} else if force, err = c.mayTake(ctx, key, o.Config, serving); err != nil {
		return err
	}
	if have != nil {
		if err := c.checkOwner(key, accessor(have), text); err != nil {
			return err
		}
	}
	// Without force another manager's object that has come since the look keeps its fields: that is a conflict.
	result, err := c.clientFor(o.Resource).Patch(types.ApplyPatchType).Namespace(namespace).Resource(o.Resource.Resource).Name(o.Name).
		VersionedParams(&metav1.PatchOptions{FieldManager: FieldManager, Force: &force}, scheme.ParameterCodec).Body(text).Do(ctx).Get()
	if err != nil {
		return fmt.Errorf("applying %s %q: %w", o.Resource.Resource, o.Name, err)
	}
	if accessor(result).GetDeletionTimestamp() != nil {
		return fmt.Errorf("%s %q is being deleted; it is made again when it is gone", o.Resource.Resource, o.Name)
	}
	c.mu.Lock()
	c.applied[key] = applied{sha256.Sum256(text), formatFingerprint(result)}
	c.mu.Unlock()
	return nil
}

// checkOwner refuses to change an object that is another server's of ours: the agent's Service of a server x has the
// name of the Service of a server x-agent, and the two would fight over it. Its name stays that of the first one.
func (c *children) checkOwner(key childKey, have metav1.Object, asked []byte) error {
	var wanted struct{ Metadata metav1.ObjectMeta }
	if err := json.Unmarshal(asked, &wanted); err != nil {
		return err
	}
	owner := have.GetAnnotations()[render.AnnotationOwner]
	if owner == "" || owner == wanted.Metadata.Annotations[render.AnnotationOwner] || !c.isOwner(key.namespace, owner) {
		return nil
	}
	return &foreign{resource: key.resource.Resource, name: key.name, owner: owner}
}

// mayTake looks at an object that the informer does not have, and reports whether there is one that may be changed.
func (c *children) mayTake(ctx context.Context, key childKey, wanted any, serving func() error) (bool, error) {
	live, err := c.getLive(ctx, key.resource, key.namespace, key.name)
	if err != nil || live == nil {
		return false, err
	}
	o := accessor(live)
	if c.isOurs(o) {
		return true, nil
	}
	if o.GetAnnotations()[TakeOver] != "" {
		return true, c.takeOver(ctx, live, key, wanted, serving)
	}
	manager := ""
	if name := o.GetLabels()[render.LabelManager]; name != "" {
		manager = fmt.Sprintf(" (%q)", name)
	}
	return false, &foreign{resource: key.resource.Resource, name: key.name, manager: manager}
}

// listSurplus are the objects of an owner that are not wanted any more, and do not go already. Those with pods stay
// until the server is ready: the Deployment of one that has a claim by now goes when the StatefulSet in its place is
// available.
func listSurplus(made []madeObject, wanted []render.Object, ready bool) []madeObject {
	var surplus []madeObject
	for _, one := range made {
		isWanted := slices.ContainsFunc(wanted, func(w render.Object) bool {
			return w.Resource == one.resource && w.Name == one.object.GetName()
		})
		hasPods := one.resource == render.Deployments || one.resource == render.StatefulSets
		if !isWanted && (ready || !hasPods) && one.object.GetDeletionTimestamp() == nil {
			surplus = append(surplus, one)
		}
	}
	return surplus
}

func (c *children) removeMade(ctx context.Context, surplus []madeObject) error {
	var wrong []error
	for _, one := range surplus {
		wrong = append(wrong, c.removeObject(ctx, one.resource, one.object))
	}
	return errors.Join(wrong...)
}
