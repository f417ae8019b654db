// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package noderig

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

type missing struct{ what string }

func (m *missing) Error() string { return m.what + " is missing" }

func (p *pod) syncVolumes() error {
	user, _, _ := userOf(&p.object.Spec, &p.object.Spec.Containers[0])
	group := -1
	if of := p.object.Spec.SecurityContext; of != nil && of.FSGroup != nil {
		group = int(*of.FSGroup)
	}
	for i := range p.object.Spec.Volumes {
		v := &p.object.Spec.Volumes[i]
		dir := filepath.Join(p.dir, "volumes", v.Name)
		if claim := v.PersistentVolumeClaim; claim != nil {
			dir = filepath.Join(here.Dir, "claims", p.object.Namespace, claim.ClaimName)
		}
		if v.EmptyDir != nil || v.PersistentVolumeClaim != nil {
			if _, err := os.Stat(dir); err != nil {
				if err := os.MkdirAll(dir, 0o755); err != nil {
					return err
				}
				// The group may write to a claim, all users to an emptyDir.
				mode := map[bool]os.FileMode{true: 0o777, false: 0o775}[v.EmptyDir != nil]
				if err := os.Chown(dir, 0, group); err != nil {
					return err
				}
				if err := os.Chmod(dir, mode|os.ModeSetgid); err != nil {
					return err
				}
			}
			p.volumes[v.Name] = dir
			continue
		}
		files, mode, err := p.readVolume(v)
		if err != nil {
			return fmt.Errorf("volume %s: %w", v.Name, err)
		}
		p.volumes[v.Name] = dir
		if err := replaceFiles(dir, files, os.FileMode(mode), int(user), group); err != nil {
			return err
		}
	}
	return nil
}

// Only the container's user reads a token.
type file struct {
	data  []byte
	token bool
}

func (p *pod) readVolume(v *corev1.Volume) (files map[string]file, mode int32, err error) {
	files = map[string]file{}
	switch {
	case v.Secret != nil:
		return files, ptr.Deref(v.Secret.DefaultMode, 0o644), p.readSecret(files, v.Secret.SecretName, v.Secret.Items, v.Secret.Optional)
	case v.ConfigMap != nil:
		return files, ptr.Deref(v.ConfigMap.DefaultMode, 0o644), p.readConfig(files, v.ConfigMap.Name, v.ConfigMap.Items, v.ConfigMap.Optional)
	case v.Projected == nil:
		return nil, 0, fmt.Errorf("noderig has no volume of its kind")
	}
	for _, source := range v.Projected.Sources {
		switch {
		case source.Secret != nil:
			err = p.readSecret(files, source.Secret.Name, source.Secret.Items, source.Secret.Optional)
		case source.ConfigMap != nil:
			err = p.readConfig(files, source.ConfigMap.Name, source.ConfigMap.Items, source.ConfigMap.Optional)
		case source.ServiceAccountToken != nil:
			var token string
			token, err = p.readToken(v.Name, source.ServiceAccountToken)
			files[source.ServiceAccountToken.Path] = file{[]byte(token), true}
		case source.DownwardAPI != nil:
			for _, item := range source.DownwardAPI.Items {
				var value string
				if value, err = p.readField(item.FieldRef); err != nil {
					break
				}
				files[item.Path] = file{data: []byte(value)}
			}
		default:
			err = fmt.Errorf("noderig has no source of its kind")
		}
		if err != nil {
			return nil, 0, err
		}
	}
	return files, ptr.Deref(v.Projected.DefaultMode, 0o644), nil
}

func (p *pod) readSecret(into map[string]file, name string, items []corev1.KeyToPath, optional *bool) error {
	of, err := p.node.secrets.Secrets(p.object.Namespace).Get(name)
	if apierrors.IsNotFound(err) {
		return reportMissing("Secret "+name, optional)
	}
	if err != nil {
		return err
	}
	return chooseKeys(into, of.Data, items, "Secret "+name, optional)
}

func (p *pod) readConfig(into map[string]file, name string, items []corev1.KeyToPath, optional *bool) error {
	of, err := p.node.configs.ConfigMaps(p.object.Namespace).Get(name)
	if apierrors.IsNotFound(err) {
		return reportMissing("ConfigMap "+name, optional)
	}
	if err != nil {
		return err
	}
	data := maps.Clone(of.BinaryData)
	if data == nil {
		data = map[string][]byte{}
	}
	for key, text := range of.Data {
		data[key] = []byte(text)
	}
	return chooseKeys(into, data, items, "ConfigMap "+name, optional)
}

func reportMissing(what string, optional *bool) error {
	if ptr.Deref(optional, false) {
		return nil
	}
	return &missing{what}
}

func chooseKeys(into map[string]file, data map[string][]byte, items []corev1.KeyToPath, what string, optional *bool) error {
	if items == nil {
		for key, value := range data {
			into[key] = file{data: value}
		}
	}
	for _, item := range items {
		value, ok := data[item.Key]
		if !ok {
			if err := reportMissing(item.Key+" in "+what, optional); err != nil {
				return err
			}
			continue
		}
		into[item.Path] = file{data: value}
	}
	return nil
}

func (p *pod) readToken(volume string, of *corev1.ServiceAccountTokenProjection) (string, error) {
	at := volume + "/" + of.Path
	if token, ok := p.tokens[at]; ok {
		return token, nil
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: of.ExpirationSeconds, BoundObjectRef: &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: p.object.Name, UID: p.object.UID},
	}}
	if of.Audience != "" {
		request.Spec.Audiences = []string{of.Audience}
	}
	made, err := p.node.core.CoreV1().ServiceAccounts(p.object.Namespace).CreateToken(p.node.ctx, p.object.Spec.ServiceAccountName, request, metav1.CreateOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) { // the pod is being deleted
		return "", &missing{"ServiceAccount " + p.object.Spec.ServiceAccountName}
	}
	if err != nil {
		return "", err
	}
	p.tokens[at] = made.Status.Token
	return made.Status.Token, nil
}

func (p *pod) readField(of *corev1.ObjectFieldSelector) (string, error) {
	if of != nil {
		switch of.FieldPath {
		case "metadata.namespace":
			return p.object.Namespace, nil
		case "metadata.name":
			return p.object.Name, nil
		case "metadata.uid":
			return string(p.object.UID), nil
		case "status.podIP":
			return p.ip, nil
		case "status.hostIP":
			return Host, nil
		case "spec.nodeName":
			return nodeName, nil
		}
	}
	return "", fmt.Errorf("noderig has no field %v", of)
}

func (p *pod) readEnvironment(c *corev1.Container) ([]corev1.EnvVar, error) {
	all := []corev1.EnvVar{
		{Name: "PATH", Value: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}, {Name: "HOME", Value: "/"}, {Name: "HOSTNAME", Value: p.object.Name},
		{Name: "KUBERNETES_SERVICE_HOST", Value: apiAddress}, {Name: "KUBERNETES_SERVICE_PORT", Value: "443"},
	}
	for _, one := range c.Env {
		value := one.Value
		for _, before := range all {
			value = strings.ReplaceAll(value, "$("+before.Name+")", before.Value)
		}
		if from := one.ValueFrom; from != nil {
			var err error
			files := map[string]file{}
			switch {
			case from.FieldRef != nil:
				value, err = p.readField(from.FieldRef)
			case from.SecretKeyRef != nil:
				err = p.readSecret(files, from.SecretKeyRef.Name, []corev1.KeyToPath{{Key: from.SecretKeyRef.Key, Path: "value"}}, from.SecretKeyRef.Optional)
				value = string(files["value"].data)
			case from.ConfigMapKeyRef != nil:
				err = p.readConfig(files, from.ConfigMapKeyRef.Name, []corev1.KeyToPath{{Key: from.ConfigMapKeyRef.Key, Path: "value"}}, from.ConfigMapKeyRef.Optional)
				value = string(files["value"].data)
			default:
				err = fmt.Errorf("noderig has no source of its kind")
			}
			if err != nil {
				return nil, fmt.Errorf("variable %s: %w", one.Name, err)
			}
		}
		all = append(all, corev1.EnvVar{Name: one.Name, Value: value})
	}
	return all, nil
}

// replaceFiles replaces all files at once, as a kubelet does by the link ..data.
func replaceFiles(dir string, files map[string]file, mode os.FileMode, user, group int) error {
	data := filepath.Join(dir, "..data")
	if sameFiles(data, files) {
		return nil
	}
	next := fmt.Sprintf("..%d", time.Now().UnixNano())
	if err := os.MkdirAll(filepath.Join(dir, next), 0o755); err != nil {
		return err
	}
	former, _ := os.Readlink(data)
	for name, of := range files {
		at := filepath.Join(dir, next, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(at, of.data, 0o600); err != nil {
			return err
		}
		owner, is := 0, mode
		if of.token {
			owner, is = user, 0o600
		}
		if group >= 0 {
			is |= 0o440
		}
		if err := os.Chown(at, owner, group); err != nil {
			return err
		}
		if err := os.Chmod(at, is); err != nil {
			return err
		}
	}
	link := filepath.Join(dir, "..next")
	if err := os.Symlink(next, link); err != nil {
		return err
	}
	if err := os.Rename(link, data); err != nil {
		return err
	}
	shown := map[string]bool{}
	for name := range files {
		top, _, _ := strings.Cut(name, "/")
		shown[top] = true
		if _, err := os.Lstat(filepath.Join(dir, top)); err != nil {
			if err := os.Symlink("..data/"+top, filepath.Join(dir, top)); err != nil {
				return err
			}
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if name := entry.Name(); name == former && former != "" || !strings.HasPrefix(name, "..") && !shown[name] {
			if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

func sameFiles(dir string, files map[string]file) bool {
	there := 0
	err := filepath.Walk(dir+"/", func(path string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			there++
		}
		return err
	})
	if err != nil || there != len(files) {
		return false
	}
	for name, of := range files {
		if data, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !bytes.Equal(data, of.data) {
			return false
		}
	}
	return true
}
