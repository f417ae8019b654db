// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// Forms of -o of most commands. Wide has more columns, never wrapped.
const (
	Plain    = "text"
	Wide     = "wide"
	JSON     = "json"
	YAML     = "yaml"
	Markdown = "markdown"
)

// Version is the apiVersion of JSON and YAML documents. Programs read them, so only a new version may lack a field.
const Version = "client.kubi.zone/v1alpha1"

type Format struct {
	form  string
	forms []string
}

// AddFormat adds the flag -o with the forms text (the default), wide, json, yaml and moreForms.
func AddFormat(command *cobra.Command, moreForms ...string) *Format {
	f := &Format{form: Plain, forms: append([]string{Plain, Wide, JSON, YAML}, moreForms...)}
	command.Flags().StringVarP(&f.form, "output", "o", f.form, strings.Join(f.forms[:len(f.forms)-1], ", ")+" or "+f.forms[len(f.forms)-1])
	utilruntime.Must(command.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(f.forms, cobra.ShellCompDirectiveNoFileComp)))
	command.PreRunE = func(*cobra.Command, []string) error { return f.check() }
	return f
}

func (f *Format) check() error {
	if !slices.Contains(f.forms, f.form) {
		return fmt.Errorf("-o %q: write one of %s", f.form, strings.Join(f.forms, ", "))
	}
	return nil
}

func (f *Format) Is(form string) bool { return f.form == form }

func (f *Format) IsDocument() bool { return f.form == JSON || f.form == YAML }

// Print writes a result as a document (JSON or YAML) of a kind, or lets addText write text.
func (f *Format) Print(out io.Writer, kind string, result any, addText func(*Text)) error {
	if f.IsDocument() {
		return f.printDocument(out, kind, result)
	}
	page := f.newText(out)
	addText(page)
	_, err := page.WriteTo(out)
	return err
}

// PrintOver is Print for a refreshing page: each call overwrites the terminal's screen, and cuts lines beyond the
// height.
func (f *Format) PrintOver(out io.Writer, kind string, result any, addText func(*Text)) error {
	writer, ok := out.(*Writer)
	// A program reads a stream of documents, and a pipe has no screen to overwrite.
	if !ok || f.IsDocument() || writer.refreshScreen().Width == 0 {
		return f.Print(out, kind, result, addText)
	}
	page := f.newText(writer)
	addText(page)
	lines := strings.Split(strings.TrimSuffix(page.built.String(), "\n"), "\n")
	// The last row has the cursor, and a longer page would scroll.
	if room := writer.screen.Height - 1; room > 0 && len(lines) > room {
		lines = append(lines[:room-1], "… more than the terminal has room for")
	}
	// Go to the first row. Clear the rest of each row after its text, and the rows below the last.
	_, err := io.WriteString(writer.raw, "\x1b[H"+strings.Join(lines, "\x1b[K\n")+"\x1b[K\n\x1b[J")
	return err
}

func (f *Format) newText(out io.Writer) *Text {
	page := NewText(out)
	if f.form == Wide {
		page.screen.Width, page.wide = 0, true
	}
	return page
}

// printDocument writes a result with apiVersion and kind as its first fields, as JSON or YAML.
func (f *Format) printDocument(out io.Writer, kind string, result any) error {
	fields, err := json.Marshal(result)
	if err != nil {
		return err
	}
	head := fmt.Sprintf(`{"apiVersion":%q,"kind":%q`, Version, kind)
	// Without fields, a comma would be wrong.
	if !bytes.Equal(fields, []byte("{}")) {
		head += ","
	}
	document := append([]byte(head), fields[1:]...)
	if f.form == YAML {
		content, err := readNode(json.NewDecoder(bytes.NewReader(document)))
		if err != nil {
			return err
		}
		return EncodeYAML(out, content)
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, document, "", "  "); err != nil {
		return err
	}
	_, err = out.Write(append(indented.Bytes(), '\n'))
	return err
}

// readNode reads JSON into YAML, because a map would lose the order of fields.
func readNode(from *json.Decoder) (*yaml.Node, error) {
	from.UseNumber()
	token, err := from.Token()
	if err != nil {
		return nil, err
	}
	node := &yaml.Node{}
	switch token {
	case json.Delim('{'):
		node.Kind = yaml.MappingNode
	case json.Delim('['):
		node.Kind = yaml.SequenceNode
	default:
		// A float64 would round a serial or a size.
		if number, ok := token.(json.Number); ok {
			return &yaml.Node{Kind: yaml.ScalarNode, Value: number.String()}, nil
		}
		return node, node.Encode(token)
	}
	for from.More() {
		part, err := readNode(from)
		if err != nil {
			return nil, err
		}
		node.Content = append(node.Content, part)
	}
	_, err = from.Token() // the end
	return node, err
}

// EncodeYAML writes a document. It double-quotes strings with characters that terminal.NewWriter escapes, where escapes
// are valid YAML.
func EncodeYAML(out io.Writer, document *yaml.Node) error {
	quoteTexts(document)
	encoder := yaml.NewEncoder(out)
	encoder.SetIndent(2)
	encoder.CompactSeqIndent()
	return errors.Join(encoder.Encode(document), encoder.Close())
}

func quoteTexts(node *yaml.Node) {
	if strings.ContainsFunc(node.Value, func(r rune) bool { return !unicode.IsPrint(r) && r != '\n' }) {
		node.Style = yaml.DoubleQuotedStyle
	}
	for _, part := range node.Content {
		quoteTexts(part)
	}
}
