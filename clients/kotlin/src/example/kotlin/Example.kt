import io.github.percached.AskEvent
import io.github.percached.Percached
import io.github.percached.PercachedException
import io.github.percached.generated.models.ProblemType
import io.github.percached.generated.models.Question
import kotlinx.coroutines.flow.filterIsInstance
import kotlinx.coroutines.flow.first
import okhttp3.RequestBody.Companion.toRequestBody

/**
 * Creates a space, uploads a file, asks, streams an answer, reads its citations, and deletes all of it.
 * PERCACHED_URL is the daemon's address, PERCACHED_TOKEN a token of it.
 */
suspend fun main() {
    val percached = Percached(System.getenv("PERCACHED_TOKEN"), System.getenv("PERCACHED_URL"))
    val space = "kotlin-example"
    val question = Question("When is the boiler service?")

    percached.createSpace(space)
    try {
        val note = "The boiler service is on Thursday 12 June at 9:30.\n".toRequestBody()
        val upload = percached.upload(space, note, "haus/Wärme.md")
        check(upload.added == 1) { upload.failures }

        val answer = percached.ask(space, question)
        println("answer: ${answer.answer}")
        for (citation in answer.citations) println("  from ${citation.about}: ${citation.quote}")
        check("12 June" in answer.citations.first().quote)

        val text = StringBuilder()
        percached.stream(space, question.copy(bypass = true)).collect { event ->
            when (event) {
                is AskEvent.Text -> text.append(event.text)
                is AskEvent.Done -> check(event.answer.answer == text.toString())
                else -> Unit
            }
        }
        println("streamed: $text")

        // Leaving a flow early stops the work.
        percached.stream(space, question.copy(bypass = true)).filterIsInstance<AskEvent.Source>().first()

        percached.documents.deleteDocument(space, answer.citations.first().document)
        check(percached.documents.listDocuments(space).total == 0)
    } finally {
        percached.deleteSpace(space)
    }

    try {
        percached.ask(space, question)
        error("the space is still there")
    } catch (e: PercachedException) {
        check(e.problem?.type == ProblemType.NotFound) { e }
    }
    println("deleted")
}
