package io.github.percached

import io.github.percached.generated.apis.ConversationsApi
import io.github.percached.generated.apis.DaemonApi
import io.github.percached.generated.apis.DocumentsApi
import io.github.percached.generated.apis.EntriesApi
import io.github.percached.generated.apis.FactsApi
import io.github.percached.generated.apis.IdleApi
import io.github.percached.generated.apis.PredictionsApi
import io.github.percached.generated.apis.QuestionsApi
import io.github.percached.generated.apis.SpacesApi
import io.github.percached.generated.infrastructure.Serializer
import io.github.percached.generated.models.Answer
import io.github.percached.generated.models.NewSpace
import io.github.percached.generated.models.Problem
import io.github.percached.generated.models.Question
import io.github.percached.generated.models.Space
import io.github.percached.generated.models.SpaceKind
import io.github.percached.generated.models.UploadStatus
import java.io.IOException
import java.time.Duration
import java.util.concurrent.Executors
import kotlinx.coroutines.channels.awaitClose
import kotlinx.coroutines.channels.trySendBlocking
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.callbackFlow
import kotlinx.serialization.SerializationException
import kotlinx.serialization.encodeToString
import okhttp3.Dispatcher
import okhttp3.HttpUrl
import okhttp3.HttpUrl.Companion.toHttpUrl
import okhttp3.Interceptor
import okhttp3.MediaType.Companion.toMediaType
import okhttp3.MultipartBody
import okhttp3.OkHttpClient
import okhttp3.Request
import okhttp3.RequestBody
import okhttp3.RequestBody.Companion.toRequestBody
import okhttp3.Response
import okhttp3.coroutines.executeAsync
import okhttp3.sse.EventSource
import okhttp3.sse.EventSourceListener
import okhttp3.sse.EventSources

/**
 * Calls a percached daemon. The properties have all operations of openapi.yaml, the functions what an
 * app needs most. All throw [PercachedException]. A cancelled coroutine cancels its request, and the
 * daemon stops the work.
 */
class Percached(token: String, baseUrl: String = "http://127.0.0.1:7337", http: OkHttpClient = defaultHttp()) {
    private val base = baseUrl.toHttpUrl()

    private val http = http.newBuilder()
        .readTimeout(Duration.ofMinutes(10)) // a model may take minutes to answer
        .addInterceptor { authorized(it, token) }
        .build()

    private val path = baseUrl.trimEnd('/')

    val conversations = ConversationsApi(path, this.http)
    val daemon = DaemonApi(path, this.http)
    val documents = DocumentsApi(path, this.http)
    val entries = EntriesApi(path, this.http)
    val facts = FactsApi(path, this.http)
    val idle = IdleApi(path, this.http)
    val predictions = PredictionsApi(path, this.http)
    val questions = QuestionsApi(path, this.http)
    val spaces = SpacesApi(path, this.http)

    suspend fun createSpace(name: String, kind: SpaceKind = SpaceKind.NOTES): Space =
        spaces.createSpace(NewSpace(name, kind))

    /** Deletes a space with all its documents and answers. */
    suspend fun deleteSpace(name: String) {
        spaces.deleteSpace(name)
    }

    /**
     * Adds a file and waits until its documents are added. [name] identifies the document and may have
     * folders (notes/plan.md): the same name again replaces it.
     */
    suspend fun upload(space: String, file: RequestBody, name: String): UploadStatus {
        // The generated function refuses names that are not ASCII.
        val form = MultipartBody.Builder().setType(MultipartBody.FORM).addFormDataPart("file", name, file).build()
        val request = Request.Builder()
            .url(of(space).addPathSegment("uploads").addQueryParameter("wait", "true").build())
            .post(form)
            .build()
        return http.newCall(request).executeAsync().use { json.decodeFromString(it.body.string()) }
    }

    suspend fun ask(space: String, question: Question): Answer = questions.ask(space, question)

    /** Asks, and emits the answer piece by piece. */
    fun stream(space: String, question: Question): Flow<AskEvent> = callbackFlow {
        val request = Request.Builder()
            .url(of(space).addPathSegments("ask/stream").build())
            .post(json.encodeToString(question).toRequestBody("application/json".toMediaType()))
            .build()
        val source = EventSources.createFactory(http).newEventSource(request, object : EventSourceListener() {
            override fun onEvent(eventSource: EventSource, id: String?, type: String?, data: String) {
                if (type == "error") {
                    val problem = json.decodeFromString<Problem>(data)
                    close(PercachedException(problem.status, problem))
                    return
                }
                val event = decode(type, data) ?: return
                trySendBlocking(event)
                if (event is AskEvent.Done) close()
            }

            // After Done these change nothing, because the flow is closed.
            override fun onClosed(eventSource: EventSource) {
                close(IOException("the stream ended before the answer was complete"))
            }

            override fun onFailure(eventSource: EventSource, t: Throwable?, response: Response?) {
                close(t ?: IOException("the response is not a stream of events"))
            }
        })
        awaitClose { source.cancel() }
    }

    private fun of(space: String): HttpUrl.Builder = base.newBuilder().addPathSegments("v1/spaces").addPathSegment(space)

    private companion object {
        init {
            // percached refuses null for a field that has no value.
            Serializer.kotlinxSerializationJsonConfiguration = { explicitNulls = false }
        }

        val json = Serializer.kotlinxSerializationJson
    }
}

/** OkHttp's own threads would keep a program alive for a minute. */
private fun defaultHttp(): OkHttpClient {
    val threads = Executors.newCachedThreadPool { Thread(it, "percached").apply { isDaemon = true } }
    return OkHttpClient.Builder().dispatcher(Dispatcher(threads)).build()
}

/** Sends the token, and makes an exception of a response that is a problem. */
private fun authorized(chain: Interceptor.Chain, token: String): Response {
    val response = chain.proceed(chain.request().newBuilder().header("Authorization", "Bearer $token").build())
    if (response.isSuccessful) return response
    response.use {
        val problem = try {
            Serializer.kotlinxSerializationJson.decodeFromString<Problem>(it.body.string())
        } catch (_: SerializationException) {
            null
        }
        throw PercachedException(it.code, problem)
    }
}
