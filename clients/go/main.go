package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"mime/multipart"
	"os"
	"strings"

	"github.com/percached/percached/api/client"
)

const (
	space    = "go-example"
	question = "When is the boiler service?"
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

// run creates a space, uploads a file, asks, streams an answer, reads its citations, and deletes
// all of it.
func run(ctx context.Context) error {
	percached, err := client.NewClientWithResponses(os.Getenv("PERCACHED_URL"),
		client.WithToken(os.Getenv("PERCACHED_TOKEN")), client.WithProblems())
	if err != nil {
		return err
	}
	if _, err := percached.CreateSpaceWithResponse(ctx, client.NewSpace{Name: space}); err != nil {
		return err
	}
	err = useSpace(ctx, percached)
	if _, e := percached.DeleteSpaceWithResponse(ctx, space, nil); e != nil {
		return errors.Join(err, e)
	}
	if err != nil {
		return err
	}

	var refused *client.ProblemError
	_, err = percached.AskWithResponse(ctx, space, client.Question{Question: question})
	if !errors.As(err, &refused) || refused.Problem.Type != client.ProblemTypeNotFound {
		return fmt.Errorf("the space is still there: %w", err)
	}
	fmt.Println("deleted")
	return nil
}

func useSpace(ctx context.Context, percached *client.ClientWithResponses) error {
	if err := upload(ctx, percached, "haus/Wärme.md", "The boiler service is on Thursday 12 June at 9:30.\n"); err != nil {
		return err
	}

	asked, err := percached.AskWithResponse(ctx, space, client.Question{Question: question})
	if err != nil {
		return err
	}
	fmt.Println("answer:", asked.JSON200.Answer)
	for _, c := range asked.JSON200.Citations {
		fmt.Printf("  from %s: %s\n", c.About, c.Quote)
	}
	source := asked.JSON200.Citations[0]
	if !strings.Contains(source.Quote, "12 June") {
		return fmt.Errorf("the citation is not of the note: %q", source.Quote)
	}

	text, err := stream(ctx, percached)
	if err != nil {
		return err
	}
	fmt.Println("streamed:", text)

	if _, err := percached.DeleteDocumentWithResponse(ctx, space, source.Document, nil); err != nil {
		return err
	}
	left, err := percached.ListDocumentsWithResponse(ctx, space, nil)
	if err != nil {
		return err
	}
	if left.JSON200.Total != 0 {
		return fmt.Errorf("%d documents are left", left.JSON200.Total)
	}
	return nil
}

// upload adds a file and waits until it is added.
func upload(ctx context.Context, percached *client.ClientWithResponses, name, text string) error {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("file", name)
	if err != nil {
		return err
	}
	_, _ = part.Write([]byte(text)) // into memory
	_ = form.Close()
	sent, err := percached.UploadDocumentsWithBodyWithResponse(ctx, space, &client.UploadDocumentsParams{Wait: new(true)}, form.FormDataContentType(), &body)
	if err != nil {
		return err
	}
	if sent.JSON200.Added != 1 {
		return fmt.Errorf("the file was not added: %v", sent.JSON200.Failures)
	}
	return nil
}

// stream asks and returns the pieces of the answer. Closing the body stops the work.
func stream(ctx context.Context, percached *client.ClientWithResponses) (string, error) {
	response, err := percached.AskStream(ctx, space, client.Question{Question: question, Bypass: new(true)})
	if err != nil {
		return "", err
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	var text strings.Builder
	for event, err := range client.Messages(response.Body) {
		if err != nil {
			return "", err
		}
		switch event.Event {
		case "token":
			var piece client.Token
			if err := json.Unmarshal(event.Data, &piece); err != nil {
				return "", err
			}
			text.WriteString(piece.Text)
		case "error":
			var e client.ProblemError
			if err := json.Unmarshal(event.Data, &e.Problem); err != nil {
				return "", err
			}
			return "", &e
		case "done":
			var answer client.Answer
			if err := json.Unmarshal(event.Data, &answer); err != nil {
				return "", err
			}
			if answer.Answer != text.String() {
				return "", fmt.Errorf("the pieces are %q, the answer %q", &text, answer.Answer)
			}
			return text.String(), nil
		}
	}
	return "", errors.New("the stream ended before the answer was complete")
}
