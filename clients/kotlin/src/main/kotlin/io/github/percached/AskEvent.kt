package io.github.percached

import io.github.percached.generated.infrastructure.Serializer
import io.github.percached.generated.models.Answer
import io.github.percached.generated.models.Citation
import io.github.percached.generated.models.Stage
import io.github.percached.generated.models.Token

/** An event of a streamed answer. [Done] is the last. */
sealed interface AskEvent {
    /** A step of the work ended. */
    data class Step(val stage: Stage) : AskEvent

    /** A source of the answer. */
    data class Source(val citation: Citation) : AskEvent

    /** The next piece of text. */
    data class Text(val text: String) : AskEvent

    /** The whole answer. */
    data class Done(val answer: Answer) : AskEvent
}

/** Returns null for an event that this client does not know. */
internal fun decode(event: String?, data: String): AskEvent? {
    val json = Serializer.kotlinxSerializationJson
    return when (event) {
        "stage" -> AskEvent.Step(json.decodeFromString<Stage>(data))
        "citation" -> AskEvent.Source(json.decodeFromString<Citation>(data))
        "token" -> AskEvent.Text(json.decodeFromString<Token>(data).text)
        "done" -> AskEvent.Done(json.decodeFromString<Answer>(data))
        else -> null
    }
}
